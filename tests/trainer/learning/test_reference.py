import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mentor_stream import snapshots
from mentor_stream.config import ConfigError, parse_section
from tests.trainer.policies import hf_logprobs, hf_model, sampled_groups
from trainer.config import TrainerConfig
from trainer.hf import conversion
from trainer.learning import reference
from trainer.packing.microbatch import Multiples, collate
from trainer.packing.rows import rows_of

Policies = Callable[..., Path]


def settings(**given: object) -> TrainerConfig:
    return parse_section(TrainerConfig, given, "trainer")


@pytest.mark.usefixtures("rank")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_it_says_what_the_directory_s_model_says_whatever_shape_the_policy_has(
    policy_of: Policies, precision: str
) -> None:
    policy, other = policy_of("llama"), policy_of("qwen3")
    config = settings(kl_coef=0.1, reference=other, precision=precision)
    asked = reference.load(config, policy)
    assert asked
    groups = sampled_groups(policy, 2, temperature=0.7)
    (found,) = asked.logprobs([collate(rows_of(groups, config).learned, Multiples())])
    assert found is not None
    assert not found.requires_grad
    model = hf_model(other)
    wanted = torch.cat([hf_logprobs(model, t, 0.7) for group in groups for t in group.trajectories])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 if precision == "fp32" else 0.3)


@pytest.mark.usefixtures("rank")
def test_without_a_kl_there_is_no_second_model(policy_of: Policies) -> None:
    assert reference.load(settings(), policy_of()) is None
    assert reference.directory(settings(), policy_of()) is None


@pytest.mark.usefixtures("rank")
def test_no_gradients_are_kept_for_it(policy_of: Policies) -> None:
    asked = reference.load(settings(kl_coef=0.1), policy_of())
    assert asked
    assert not any(p.requires_grad or hasattr(p, "main_grad") for p in asked.network.parameters())


def test_its_identity_is_what_the_files_hold(policy_of: Policies, tmp_path: Path) -> None:
    shutil.copytree(policy_of(), tmp_path / "copy")
    same = snapshots.identity(tmp_path / "copy")
    assert same == snapshots.identity(policy_of())
    weights = tmp_path / "copy" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert snapshots.identity(tmp_path / "copy") != same


def test_a_snapshots_identity_is_that_of_its_manifest_until_a_file_is_written_anew(
    policy_of: Policies, tmp_path: Path
) -> None:
    unsealed = snapshots.identity(policy_of())
    place, _ = snapshots.write(tmp_path, 0, lambda draft: conversion.copy_files(policy_of(), draft))
    assert snapshots.identity(place) == unsealed
    weights, written = place / "model.safetensors", (place / "manifest.json").stat().st_mtime_ns
    weights.write_bytes(bytes([*weights.read_bytes()[:-1], 0]))
    os.utime(weights, ns=(written, written))
    assert snapshots.identity(place) == unsealed, "the file was read"
    os.utime(weights, ns=(written + 1, written + 1))
    assert snapshots.identity(place) != unsealed


def test_it_is_the_runs_first_policy_or_the_one_that_is_named(policy_of: Policies) -> None:
    own, other = policy_of("qwen3"), policy_of("llama")
    assert reference.directory(settings(kl_coef=0.1), own) == own
    assert reference.directory(settings(kl_coef=0.1, reference=own), other) == own


def test_a_reference_that_nothing_would_ask_is_refused() -> None:
    with pytest.raises(ConfigError, match="reference without kl_coef has no effect"):
        settings(reference="somewhere")
