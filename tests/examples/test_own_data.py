"""The own-data example from end to end: its config, a chat model, a scripted endpoint, a handful of steps.

The model is a tiny random one that answers with one digit, so that it is sometimes right; the full walk
with a real model is in examples/own-data/README.md.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import TypeVar

import anyio
import pytest

import schemas
from mentor_stream import topics
from mentor_stream.component import check, load_config
from mentor_stream.stream import connect
from mentor_stream.topics import Topic
from schemas import Origin
from tests.endpoint import HINT, Endpoint
from tests.models import a_model, a_tokenizer

R = TypeVar("R", bound=schemas.Record)
CONFIG = Path("examples/own-data/own-data.toml")
DIGITS = [str(digit) for digit in range(10)]
CHAT = "{% for m in messages %}<|{{ m.role }}|> {{ m.content }} {% endfor %}<|assistant|>"


def write_questions(path: Path, count: int, seed: int) -> None:
    rng, rows = Random(seed), []
    for _ in range(count):
        had = rng.randrange(1, 5)
        got = rng.randrange(1, 5)
        rows.append(
            f'{{"question": "Ada has {had} pens and buys {got} more. How many?", "answer": "{had + got}"}}'
        )
    path.write_text("\n".join(rows) + "\n")


def write_chat_model(directory: Path) -> None:
    """A Llama of 16 tokens, ten of them digits, with a chat template."""
    special = ["<pad>", "<unk>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    a_tokenizer(
        special + DIGITS,
        pad_token="<pad>",
        eos_token="</s>",
        additional_special_tokens=special[3:],
        chat_template=CHAT,
    ).save_pretrained(directory)
    a_model(
        vocab_size=16,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=256,
        pad_token_id=0,
        eos_token_id=2,
    ).save_pretrained(directory)


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """What a reader changes in the example's config, as overrides of the environment."""
    write_chat_model(tmp_path / "policy")
    write_questions(tmp_path / "train.jsonl", 40, seed=1)
    write_questions(tmp_path / "test.jsonl", 8, seed=2)
    settings = {
        "RUN__POLICY": tmp_path / "policy",
        "RUN__DIRECTORY": tmp_path / "run",
        "RUN__BROKER": f"sqlite:///{tmp_path}/run/stream.db",
        "RUN__BATCH_GROUPS": 2,
        "RUN__MAX_VERSIONS": 3,
        "DATA__TRAIN": tmp_path / "train.jsonl",
        "DATA__HELDOUT": tmp_path / "test.jsonl",
        "ROLLOUT__GROUP_SIZE": 8,
        "ROLLOUT__MAX_NEW_TOKENS": 1,
        "SUPERVISOR__VIEW": "plain",
    }
    return {
        "MENTOR_API_KEY": "sk-test",
        "OMP_NUM_THREADS": "1",
        **{f"MENTOR_STREAM__{name}": str(value) for name, value in settings.items()},
    }


async def read(broker: str, topic: Topic[R]) -> list[R]:
    async with (
        connect(broker, "own-data", "test") as stream,
        stream.reader(topic, start="earliest", follow=False) as deliveries,
    ):
        return [delivery.record async for delivery in deliveries]


def test_the_config_is_sound_once_its_inputs_are_there(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    check(load_config(CONFIG))


@pytest.mark.slow
def test_a_readers_own_questions_model_and_mentor_train(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    with Endpoint() as endpoint:
        up = subprocess.run(
            [sys.executable, "-m", "mentor_stream.cli", "up", str(CONFIG)],
            env={**os.environ, **environment, "MENTOR_STREAM__MENTOR__GUIDE__AGENTS__BASE_URL": endpoint.url},
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert up.returncode == 0, up.stdout + up.stderr
    broker = f"sqlite:///{tmp_path}/run/stream.db"
    groups = anyio.run(read, broker, topics.GROUPS, backend="trio")
    guided = anyio.run(read, broker, topics.GUIDED, backend="trio")
    releases = anyio.run(read, broker, topics.POLICIES, backend="trio")
    assert {query.hint.text for query in guided if query.hint} == {HINT}
    assert any(group.query.origin is Origin.GUIDED for group in groups)
    assert max(release.policy_version for release in releases) == 3
    assert "sk-test" not in up.stdout + up.stderr
    _check_trained(tmp_path / "run" / "model", tmp_path / "policy")


def _check_trained(trained: Path, start: Path) -> None:
    """The exported model loads, chats and is not the one it started as."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    after, before = (AutoModelForCausalLM.from_pretrained(path).state_dict() for path in (trained, start))
    assert after.keys() == before.keys()
    assert any(not torch.equal(after[name], before[name]) for name in after)
    assert AutoTokenizer.from_pretrained(trained).chat_template == CHAT
