import json
from pathlib import Path

import pytest

from tests.trainer.policies import DISTILLED, LLAMA3
from trainer.model import architecture
from trainer.model.architecture import FAMILIES, Family, UnsupportedModel

SMALL = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 66,
}


def described(directory: Path, **changes: object) -> Path:
    (directory / "config.json").write_text(json.dumps(SMALL | changes))
    return directory


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"architectures": ["GPT2LMHeadModel"]}, "GPT2LMHeadModel"),
        ({"architectures": [[1]]}, r"architecture \[1\] is not supported"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"attention_bias": True}, "attention_bias"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types holds sliding_attention"),
        ({"architectures": ["Qwen3MoeForCausalLM"]}, "Qwen3MoeForCausalLM is not supported"),
        ({"num_experts": 8}, "num_experts is not supported"),
        ({"use_mrope": True}, "use_mrope is not supported"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization_config: awq"),
        ({"num_key_value_heads": 3}, r"num_attention_heads is 4, which num_key_value_heads \(3\)"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rotary type dynamic"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"vocab_size": None}, "vocab_size is missing"),
        ({"vocab_size": "many"}, "vocab_size is 'many', expected a whole number"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0, expected a whole number"),
        ({"architectures": 3}, "architectures is 3, expected a list"),
        ({"rope_scaling": [1]}, "rope_scaling is .*, expected an object"),
    ],
)
def test_a_part_that_cannot_be_trained_is_named(tmp_path: Path, changes: dict, named: str) -> None:
    with pytest.raises(UnsupportedModel, match=named):
        architecture.read(described(tmp_path, **changes))


@pytest.mark.parametrize("content", ["[]", "3", "{", "\xff"])
def test_a_config_json_that_describes_no_model_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(UnsupportedModel, match=r"config\.json"):
        architecture.read(tmp_path)


def test_an_unknown_architecture_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match="LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM"):
        architecture.read(described(tmp_path, architectures=["GPT2LMHeadModel"]))


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("LlamaForCausalLM", Family()),
        ("Qwen2ForCausalLM", Family(qkv_bias=True)),
        ("Qwen3ForCausalLM", Family(qk_norm=True, head_dim=128)),
    ],
)
def test_a_model_is_of_the_family_that_it_names(tmp_path: Path, name: str, family: Family) -> None:
    assert architecture.read(described(tmp_path, architectures=[name])).family == family


def test_a_family_that_differs_by_flags_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "OursForCausalLM", Family(qkv_bias=True, qk_norm=True))
    found = architecture.read(described(tmp_path, architectures=["OursForCausalLM"], attention_bias=True))
    assert found.family == Family(qkv_bias=True, qk_norm=True)


@pytest.mark.parametrize(
    ("distilled", "family", "kind"),
    [
        ("Qwen2ForCausalLM", Family(qkv_bias=True), "default"),
        ("LlamaForCausalLM", Family(), "llama3"),
    ],
)
def test_what_distilled_models_say_and_do_not_use_is_no_obstacle(
    tmp_path: Path, distilled: str, family: Family, kind: str
) -> None:
    scaling = None if kind == "default" else {key: v for key, v in LLAMA3.items() if key != "rope_theta"}
    said = DISTILLED | {"rope_theta": 10_000, "rope_scaling": scaling, "pretraining_tp": 1, "use_cache": True}
    found = architecture.read(described(tmp_path, architectures=[distilled], **said))
    assert (found.family, found.rope.kind, found.tied) == (family, kind, False)


def test_a_head_has_the_size_of_its_family_where_nothing_is_said(tmp_path: Path) -> None:
    assert architecture.read(described(tmp_path)).head_dim == 8
    assert architecture.read(described(tmp_path, architectures=["Qwen3ForCausalLM"])).head_dim == 128


def test_parts_that_ranks_cannot_share_are_named(tmp_path: Path) -> None:
    shape = architecture.read(described(tmp_path, num_attention_heads=12, num_key_value_heads=6))
    assert architecture.indivisible(shape, 2) == []
    assert architecture.indivisible(shape, 4) == ["key-value heads (6)"]
    assert architecture.indivisible(shape, 9) == [
        "attention heads (12)", "MLP width (48)", "key-value heads (6)",
    ]  # fmt: skip


def test_ranks_share_any_vocabulary_of_which_each_has_words(tmp_path: Path) -> None:
    assert architecture.indivisible(architecture.read(described(tmp_path, vocab_size=67)), 4) == []
    few = architecture.read(described(tmp_path, vocab_size=6))
    assert architecture.indivisible(few, 4) == ["vocabulary (6)"]
