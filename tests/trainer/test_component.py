import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mentor_stream.component import components
from mentor_stream.config import Config, ConfigError, RunConfig, load, parse_section
from mentor_stream.sampling import RolloutConfig
from mentor_stream.topics import TopicsConfig
from trainer.component import check
from trainer.config import TrainerConfig
from trainer.model import hardware

RUN = """
[run]
name = "t"
directory = "{directory}"
broker = "sqlite:///{directory}/stream.db"
policy = "{policy}"
"""


def config(tmp_path: Path, policy: Path, trainer: str = "", run: str = "") -> Config:
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(directory=tmp_path, policy=policy) + run + "\n[trainer]\n" + trainer)
    return load(path, [RunConfig, TrainerConfig])


def test_it_is_installed_under_its_name() -> None:
    assert components()["trainer"].sections == (TrainerConfig, TopicsConfig)


def test_a_good_config_has_no_problems(tmp_path: Path, policy_of: Callable[..., Path]) -> None:
    assert list(check(config(tmp_path, policy_of(), "tensor_parallel = 2"))) == []


@pytest.mark.parametrize(
    ("trainer", "named"),
    [
        (
            "tensor_parallel = 3",
            "trainer.tensor_parallel is 3: it does not divide the model's attention heads (4)",
        ),
        (
            "pipeline_parallel = 3",
            "trainer.pipeline_parallel is 3: it does not divide the model's layers (2)",
        ),
        ('precision = "fp8"', "Transformer Engine"),
        ("publish_every = 6", "trainer.publish_every is 6"),
        (
            "minibatches = 33",
            "trainer.minibatches is 33: a batch has no more than run.batch_groups = 32 groups",
        ),
        ('kl_coef = 0.1\nreference = "no/where"', "trainer.reference is 'no/where': no such directory"),
    ],
)
def test_an_impossible_setting_is_named_with_the_way_out(
    tmp_path: Path, policy_of: Callable[..., Path], trainer: str, named: str
) -> None:
    problems = list(check(config(tmp_path, policy_of(), trainer)))
    assert any(named in problem for problem in problems), problems


def test_weights_over_nccl_need_a_gpu_of_the_trainer_s(
    tmp_path: Path, policy_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = config(tmp_path, policy_of())

    def problems(weights: str) -> list[str]:
        rollout = RolloutConfig(engine={"kind": "vllm", "weights": weights})
        return list(check(Config(plain.path, {**plain.sections, "rollout": rollout})))

    monkeypatch.setattr(hardware, "has_gpu", lambda: False)
    assert problems("gloo") == problems("snapshot") == []
    [problem] = problems("nccl")
    assert "rollout.engine.weights is 'nccl': torch sees no GPU" in problem
    monkeypatch.setattr(hardware, "has_gpu", lambda: True)
    assert problems("nccl") == []


def test_a_policy_without_parts_is_named(tmp_path: Path) -> None:
    assert "no such directory" in next(iter(check(config(tmp_path, tmp_path / "none"))))
    (tmp_path / "empty").mkdir()
    assert "config.json" in next(iter(check(config(tmp_path, tmp_path / "empty"))))


def test_a_reference_needs_no_tokenizer_but_the_policys_words(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    reference = shutil.copytree(policy_of("qwen3"), tmp_path / "reference")
    for file in reference.glob("tokenizer*"):
        file.unlink()
    asked = f'kl_coef = 0.1\nreference = "{reference}"'
    assert list(check(config(tmp_path, policy_of(), asked))) == []
    [problem] = check(config(tmp_path, policy_of("odd"), asked))
    assert f"trainer.reference is '{reference}': it knows 64 tokens, and run.policy 65" in problem


def test_a_policy_whose_files_are_not_its_model_is_named(
    tmp_path: Path, policy_of: Callable[..., Path]
) -> None:
    policy = shutil.copytree(policy_of(), tmp_path / "policy")
    described = json.loads((policy / "config.json").read_text()) | {"num_hidden_layers": 3}
    (policy / "config.json").write_text(json.dumps(described))
    [problem] = check(config(tmp_path, policy))
    assert "tensors are missing: model.layers.2" in problem
    (policy / "model.safetensors").rename(policy / "pytorch_model.bin")
    [problem] = check(config(tmp_path, policy))
    assert "pytorch_model.bin is not read" in problem


def test_a_file_is_not_called_missing_where_the_policy_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "not a directory" in next(iter(check(config(tmp_path, tmp_path / "file"))))


def test_positions_cannot_be_shared_by_one_rank() -> None:
    with pytest.raises(ConfigError, match="sequence_parallel needs tensor_parallel above 1"):
        parse_section(TrainerConfig, {"sequence_parallel": True}, "trainer")


def test_constant_normalization_without_its_length_is_refused() -> None:
    with pytest.raises(ConfigError, match="constant_length"):
        parse_section(TrainerConfig, {"normalization": "constant"}, "trainer")
