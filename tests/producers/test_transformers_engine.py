from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import torch
from transformers import AutoModelForCausalLM

from mentor_stream.snapshots import SnapshotError
from producers.engines.base import Sample
from producers.engines.transformers import Config, build, check
from producers.engines.transformers.engine import TransformersEngine
from schemas import FinishReason, Sampling
from tests.models import a_model
from tests.producers.conftest import EOS

PROMPTS = [[1, 14, 15, 7, 16, 8, 17], [1, 9], [1, 14, 15, 5]]


def sample(
    path: Path | TransformersEngine, prompts: Sequence[Sequence[int]] = PROMPTS, **changes: Any
) -> Any:
    """Completions of the policy at a path, or of an engine that has one loaded."""
    options = {"samples": 4, "temperature": 1.0, "max_new_tokens": 12, "seed": 0, "max_batch": 256} | changes
    sampling = Sampling(
        temperature=options["temperature"], top_p=options.get("top_p", 1.0), top_k=options.get("top_k", 0)
    )

    async def main() -> list[list[Sample]]:
        engine = path
        if isinstance(engine, Path):
            engine = build(Config(device="cpu", num_threads=1, max_batch=options["max_batch"]))
            await engine.load(path, 3)
        return await engine.generate(
            prompts,
            samples=options["samples"],
            sampling=sampling,
            max_new_tokens=options["max_new_tokens"],
            seed=options["seed"],
        )

    return anyio.run(main, backend="trio")


def loaded(path: Path, version: int = 0) -> TransformersEngine:
    engine = build(Config(device="cpu", num_threads=1))
    anyio.run(engine.load, path, version, backend="trio")
    return engine


def teacher_forced(path: Path, prompt: Sequence[int], completion: Sequence[int]) -> torch.Tensor:
    """Log-probs [completion, vocab] of one forward over prompt and completion, alone and without a cache."""
    model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *completion]])).logits[0]
    return logits[len(prompt) - 1 : -1].float()


def test_logprobs_equal_a_teacher_forced_forward_for_left_padded_prompts(tiny_policy: Path) -> None:
    for prompt, group in zip(PROMPTS, sample(tiny_policy, temperature=0.7), strict=True):
        for got in group:
            wanted = (teacher_forced(tiny_policy, prompt, got.completion_ids) / 0.7).log_softmax(-1)
            picked = wanted.gather(1, torch.tensor(got.completion_ids)[:, None])[:, 0]
            torch.testing.assert_close(torch.tensor(got.logprobs), picked, atol=1e-5, rtol=0)


def test_logprobs_are_of_the_truncated_distribution(tiny_policy: Path) -> None:
    for prompt, group in zip(PROMPTS, sample(tiny_policy, top_k=3), strict=True):
        for got in group:
            logits = teacher_forced(tiny_policy, prompt, got.completion_ids)
            best = logits.topk(3).values.log_softmax(-1)
            ranks = (logits > logits.gather(1, torch.tensor(got.completion_ids)[:, None])).sum(1)
            torch.testing.assert_close(
                torch.tensor(got.logprobs), best.gather(1, ranks[:, None])[:, 0], atol=1e-5, rtol=0
            )


def test_greedy_equals_transformers_own_generate(tiny_policy: Path) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(tiny_policy)
    for prompt, group in zip(PROMPTS, sample(tiny_policy, temperature=0, samples=1), strict=True):
        ids = torch.tensor([prompt])
        wanted = model.generate(ids, max_new_tokens=12, do_sample=False, attention_mask=torch.ones_like(ids))
        assert group[0].completion_ids == wanted[0, len(prompt) :].tolist()


def test_a_completion_ends_with_the_first_stop_token(policy_with: Callable[..., Path]) -> None:
    path = policy_with(eos_token_id=[EOS, 7, 11])
    samples = [s for group in sample(path, samples=32, max_new_tokens=24) for s in group]
    for got in samples:
        stops = [place for place, token in enumerate(got.completion_ids) if token in (EOS, 7, 11)]
        if got.finish_reason is FinishReason.STOP:
            assert stops == [len(got.completion_ids) - 1]
        else:
            assert stops == []
            assert len(got.completion_ids) == 24
        assert len(got.logprobs) == len(got.completion_ids) == got.policy[0].count
        assert got.policy[0].policy_version == 3
    assert {s.finish_reason for s in samples} == {FinishReason.STOP, FinishReason.LENGTH}


def test_the_same_seed_gives_the_same_completions_and_another_seed_others(tiny_policy: Path) -> None:
    first, again = sample(tiny_policy, seed=5), sample(tiny_policy, seed=5)
    assert first == again
    assert first != sample(tiny_policy, seed=6)


@pytest.mark.parametrize("max_batch", [1, 3, 8])
def test_what_a_row_gets_does_not_depend_on_who_shares_its_batch(tiny_policy: Path, max_batch: int) -> None:
    together = sample(tiny_policy, seed=5)
    apart = sample(tiny_policy, seed=5, max_batch=max_batch)
    assert [[s.completion_ids for s in g] for g in together] == [[s.completion_ids for s in g] for g in apart]


@pytest.mark.parametrize(
    "settings",
    [{"num_key_value_heads": 2}, {"tie_word_embeddings": True}],
    ids=["grouped-query attention", "tied embeddings"],
)
def test_new_weights_of_the_same_shape_are_swapped_into_the_live_model(
    policy_with: Callable[..., Path], settings: dict[str, Any]
) -> None:
    old, new = policy_with("old", seed=1, **settings), policy_with("new", seed=2, **settings)
    engine = loaded(old)
    model, before = engine._model, sample(engine)
    anyio.run(engine.load, new, 1, backend="trio")
    after = sample(engine)
    assert engine._model is model
    assert engine.version == 1
    assert after[0][0].policy[0].policy_version == 1
    assert [s.completion_ids for s in after[0]] != [s.completion_ids for s in before[0]]
    fresh = sample(new)
    assert [s.completion_ids for g in after for s in g] == [s.completion_ids for g in fresh for s in g]
    assert [s.logprobs for g in after for s in g] == [s.logprobs for g in fresh for s in g]


def test_a_policy_of_another_shape_is_loaded_anew(
    policy_with: Callable[..., Path], tiny_policy: Path
) -> None:
    engine = loaded(tiny_policy)
    deeper = policy_with(num_hidden_layers=3)
    anyio.run(engine.load, deeper, 1, backend="trio")
    assert sample(engine)[0][0].completion_ids == sample(deeper)[0][0].completion_ids


def test_a_snapshot_that_is_gone_leaves_the_old_weights_in_use(tiny_policy: Path, tmp_path: Path) -> None:
    engine = loaded(tiny_policy)
    before = sample(engine)
    with pytest.raises(SnapshotError, match="nowhere"):
        anyio.run(engine.load, tmp_path / "nowhere", 1, backend="trio")
    assert engine.version == 0
    assert sample(engine) == before


def test_a_snapshot_without_some_weight_is_refused(policy_with: Callable[..., Path]) -> None:
    from safetensors.torch import load_file, save_file

    path = policy_with()
    weights = load_file(path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, path / "model.safetensors", {"format": "pt"})
    with pytest.raises(SnapshotError, match="up_proj"):
        loaded(path)


def test_a_model_whose_padding_would_go_wrong_unnoticed_is_refused(tmp_path: Path) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    shape = {"vocab_size": 21, "hidden_size": 8, "num_hidden_layers": 1, "state_size": 2}
    MambaForCausalLM(MambaConfig(**shape)).save_pretrained(tmp_path)
    with pytest.raises(NotImplementedError, match="MambaForCausalLM"):
        loaded(tmp_path)


FAMILIES: dict[str, dict[str, Any]] = {
    "Qwen3": {"num_key_value_heads": 2, "head_dim": 8},
    "Mistral": {"num_key_value_heads": 2, "sliding_window": 4},
    "GPT2": {},
    "Lfm2": {"num_key_value_heads": 2, "layer_types": ["conv", "full_attention"]},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_logprobs_are_exact_for_other_families_and_when_finished_rows_leave(
    tmp_path: Path, family: str
) -> None:
    fixed: dict[str, Any] = {"vocab_size": 21, "max_position_embeddings": 64, "initializer_range": 0.4}
    stops = {"eos_token_id": [2, 5, 7, 11], "pad_token_id": 0, "bos_token_id": 1}
    a_model(family, **fixed, **stops, **FAMILIES[family]).save_pretrained(tmp_path)
    groups = sample(tmp_path, max_new_tokens=16)
    assert len({len(s.completion_ids) for group in groups for s in group}) > 3
    for prompt, group in zip(PROMPTS, groups, strict=True):
        for got in group:
            wanted = teacher_forced(tmp_path, prompt, got.completion_ids).log_softmax(-1)
            picked = wanted.gather(1, torch.tensor(got.completion_ids)[:, None])[:, 0]
            torch.testing.assert_close(torch.tensor(got.logprobs), picked, atol=1e-5, rtol=0)


def test_an_empty_prompt_is_an_error(tiny_policy: Path) -> None:
    with pytest.raises(ValueError, match="empty prompt"):
        sample(tiny_policy, prompts=[[1, 5], []])


def test_the_event_loop_stays_alive_and_cancelling_stops_the_sampling(
    policy_with: Callable[..., Path],
) -> None:
    engine = loaded(policy_with(eos_token_id=None))  # which never ends by itself

    async def main() -> bool:
        with anyio.move_on_after(0.2) as scope:
            await engine.generate(
                [[1, 5]] * 8, samples=8, sampling=Sampling(temperature=1.0), max_new_tokens=100_000, seed=0
            )
        return scope.cancelled_caught

    async def bounded() -> bool:
        with anyio.fail_after(20):
            return await main()

    assert anyio.run(bounded, backend="trio")


@pytest.mark.parametrize(
    ("device", "problem"),
    [
        ("auto", None),
        ("cpu", None),
        ("tpu-v9", "rollout.engine.device is 'tpu-v9': torch knows no such device"),
        ("cuda:1000", "rollout.engine.device is 'cuda:1000': torch sees "),
    ],
)
def test_a_device_that_this_machine_does_not_have_is_found_before_a_run(device: str, problem: str | None):
    found = list(check(Config(device=device)))
    assert len(found) == (problem is not None)
    assert not problem or found[0].startswith(problem)
