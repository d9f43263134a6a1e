import json
from pathlib import Path

import pytest

from trainer import architecture
from trainer.architecture import FAMILIES, Family, UnsupportedModel

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 66,
}


def described(directory: Path, **changes: object) -> Path:
    (directory / "config.json").write_text(json.dumps(LLAMA | changes))
    return directory


@pytest.mark.parametrize(
    "spelling",
    [{"rope_theta": 500.0}, {"rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}}],
    ids=["transformers 4", "transformers 5"],
)
def test_rotary_settings_are_read_in_both_spellings(tmp_path: Path, spelling: dict) -> None:
    assert architecture.read(described(tmp_path, **spelling)).rope_theta == 500.0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"architectures": ["GPT2LMHeadModel"]}, "GPT2LMHeadModel"),
        ({"architectures": [[1]]}, r"architecture \[1\] is not supported"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"attention_bias": True}, "attention_bias"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "linear"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 2.0}}, "llama3"),
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
        ("Qwen3ForCausalLM", Family(qk_norm=True)),
    ],
)
def test_a_model_is_of_the_family_that_it_names(tmp_path: Path, name: str, family: Family) -> None:
    assert architecture.read(described(tmp_path, architectures=[name])).family == family


def test_a_family_that_differs_by_flags_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "OursForCausalLM", Family(qkv_bias=True, qk_norm=True))
    found = architecture.read(described(tmp_path, architectures=["OursForCausalLM"], attention_bias=True))
    assert found.family == Family(qkv_bias=True, qk_norm=True)


def test_parts_that_ranks_cannot_share_are_named(tmp_path: Path) -> None:
    shape = architecture.read(described(tmp_path))
    assert architecture.indivisible(shape, 2) == []
    assert architecture.indivisible(shape, 4) == ["key-value heads (2)", "vocabulary (66)"]
