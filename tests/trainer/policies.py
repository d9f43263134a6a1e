"""Tiny random policies, and groups really sampled from them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers

import schemas
from schemas import FinishReason, Group, Sampling, Trajectory, Verdict, VersionRun
from tests.builders import a_query
from tests.models import a_model, a_tokenizer

VOCABULARY = 64
SHAPE = {
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
SHORT = {"factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0}
"""Scaled so soon that a test gets beyond what the model knew before."""
YARN = SHORT | {"rope_type": "yarn"}
ROPES: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 2.5, "rope_theta": 100.0},
    "llama3 with bounds": SHORT | {"rope_type": "llama3", "low_freq_factor": 2.0, "high_freq_factor": 6.0},
    "yarn": YARN,
    "yarn with bounds": YARN | {"beta_fast": 8.0, "beta_slow": 2.0, "truncate": False},
    "yarn with mscale": YARN | {"mscale": 2.0, "mscale_all_dim": 0.5},
    "yarn with attention factor": YARN | {"attention_factor": 0.7},
}
DISTILLED = {
    "bos_token_id": 0,
    "eos_token_id": 0,
    "max_window_layers": 28,
    "sliding_window": 4096,
    "use_mrope": False,
    "use_sliding_window": False,
}
"""What DeepSeek-R1-Distill-Qwen says beside its sizes."""
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {"rope_parameters": {"rope_theta": 100.0}}),
    "llama3": ("Llama", {"rope_parameters": LLAMA3}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "distilled": ("Qwen2", DISTILLED),
    "odd qwen3": ("Qwen3", {"head_dim": 16, "vocab_size": VOCABULARY + 1}),
    "odd": ("Llama", {"vocab_size": VOCABULARY + 1, "rope_parameters": {"rope_theta": 100.0}}),
} | {name: ("Llama", {"rope_parameters": rope}) for name, rope in ROPES.items()}


def write_policy(directory: Path, family: str = "llama", *, tied: bool = False) -> Path:
    """A Hugging Face directory: 2 layers, 4 heads on 2 key-value heads, biases and norms that matter."""
    name, settings = FAMILIES[family]
    model = a_model(name, seed=3, **(SHAPE | settings), tie_word_embeddings=tied)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if "norm" in parameter_name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            else:
                parameter.normal_(0, 0.15)
    model.save_pretrained(directory)
    a_tokenizer([f"w{i}" for i in range(VOCABULARY)], unknown="w0").save_pretrained(directory)
    return directory


def weights_of(tensors: Iterable[tuple[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """All weights that a learner or a model gives, as they are now."""
    return {name: tensor.clone() for name, tensor in tensors}


def hf_model(policy: Path) -> transformers.PreTrainedModel:
    """The policy as transformers sees it."""
    return transformers.AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32).eval()


def hf_logprobs(
    model: transformers.PreTrainedModel, trajectory: Trajectory, temperature: float
) -> torch.Tensor:
    """Log-probabilities of a completion [completion], each sequence alone and unpadded."""
    return hf_scores(model, trajectory, temperature)[0]


def hf_scores(
    model: transformers.PreTrainedModel, trajectory: Trajectory, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Those, and the entropies of the distributions that the tokens are from [completion]."""
    prompt, completion = (
        torch.tensor(a.numpy()).long() for a in (trajectory.prompt_ids, trajectory.completion_ids)
    )
    ids = torch.cat([prompt, completion])[None]
    logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1] / temperature
    logprobs = torch.log_softmax(logits, -1)
    entropy = -(logprobs.exp() * logprobs).sum(-1)
    return logprobs.gather(-1, completion[:, None])[:, 0], entropy


def sampled_groups(
    policy: Path,
    count: int,
    *,
    size: int = 4,
    temperature: float = 1.0,
    seed: int = 0,
    version: int = 0,
    first: int = 0,
    run: str = "test",
) -> list[Group]:
    """Groups sampled from the policy with transformers; prompts and completions of several lengths.

    Rewards alternate, so that every group has a signal.
    """
    model, generator = hf_model(policy), torch.Generator().manual_seed(seed)
    groups = []
    for number in range(first, first + count):
        prompt = torch.randint(3, VOCABULARY, (3 + number % 4,), generator=generator)
        rows = [_sample(model, prompt, 2 + (number + row) % 5, temperature, generator) for row in range(size)]
        groups.append(
            Group(
                group_id=schemas.group_id(run, str(number), 0),
                query=a_query(position=number),
                trajectories=tuple(
                    _trajectory(prompt, ids, logprobs, right=row % 2 == 0, version=version)
                    for row, (ids, logprobs) in enumerate(rows)
                ),
                sampling=Sampling(temperature=temperature),
                worker="test",
                sampled_at=0.0,
            )
        )
    return groups


@torch.no_grad()
def _sample(
    model: transformers.PreTrainedModel,
    prompt: torch.Tensor,
    length: int,
    temperature: float,
    generator: torch.Generator,
) -> tuple[list[int], list[float]]:
    ids, chosen, logprobs = prompt, [], []
    for _ in range(length):
        distribution = torch.log_softmax(model(input_ids=ids[None]).logits[0, -1] / temperature, -1)
        token = torch.multinomial(distribution.exp(), 1, generator=generator)
        ids = torch.cat([ids, token])
        chosen.append(int(token))
        logprobs.append(float(distribution[token]))
    return chosen, logprobs


def _trajectory(
    prompt: torch.Tensor, completion: list[int], logprobs: list[float], *, right: bool, version: int
) -> Trajectory:
    return Trajectory(
        prompt_ids=schemas.ids(prompt.numpy()),
        completion_ids=schemas.ids(completion),
        logprobs=schemas.floats(logprobs),
        policy=(VersionRun(policy_version=version, count=len(completion)),),
        text="",
        reward=float(right),
        verdict=Verdict.RIGHT if right else Verdict.WRONG,
        finish_reason=FinishReason.LENGTH,
    )
