"""`CONFIG[:RUN]`: one rule for every command that looks at another run of the same broker."""

from pathlib import Path

import anyio
import pytest

from mentor_stream import stream, topics
from mentor_stream.commands.run import named, parted
from mentor_stream.config import ConfigError
from tests.builders import a_group
from tests.runs import mentor_stream, url, write_config

READERS = {
    "compare": lambda run, to: ["compare", run, run],
    "export": lambda run, to: ["export", run, f"{to}/out.parquet"],
    "import": lambda run, to: ["import", f"{to}/in.parquet", run],
    "metrics export": lambda run, to: ["metrics", "export", run, f"{to}/points", "--to", "tensorboard"],
    "monitor": lambda run, to: ["monitor", run, "--json"],
    "replay": lambda run, to: ["replay", "--from", run, "--to", "again"],
    "retrain": lambda run, to: ["retrain", "--from", run, "--to", f"{to}/again"],
    "tail": lambda run, to: ["tail", "hints", run, "--no-follow"],
}


NEED_MORE = ("import", "retrain")
"""An archive, a model."""


@pytest.mark.parametrize("name", ["../y", "", "a/b", ".hidden", "x" * 102, "\x1b[2J", "a b", "a:b"])
@pytest.mark.parametrize("command", READERS)
def test_a_run_that_can_be_none_is_refused_by_name(tmp_path: Path, command: str, name: str):
    run = f"{write_config(tmp_path)}:{name}"
    done = mentor_stream(*READERS[command](run, tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mentor-stream: the run in '")
    assert f"is {name!r}: expected the name of a run" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("command", [name for name in READERS if name not in NEED_MORE])
def test_a_run_that_is_not_there_is_named(tmp_path: Path, command: str):
    async def main() -> None:
        async with stream.connect(url(tmp_path), "run", "rollout") as run:
            await run.publish(topics.COLLAPSED, a_group("WW"))

    anyio.run(main, backend="trio")
    text = write_config(tmp_path)
    Path(text).write_text(
        Path(text).read_text() + '\n[mentor.guide]\nkind = "critique"\nbase_url = "http://h"\nmodel = "m"\n'
    )
    done = mentor_stream(*READERS[command](f"{text}:other", tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "other" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_path_may_hold_colons_and_then_a_run_is_behind_the_last_one(tmp_path: Path):
    plain, strange = Path(write_config(tmp_path)), tmp_path / "a:b.toml"
    strange.write_text(plain.read_text())
    for text, wanted in {
        f"{plain}": "run", f"{plain}:other": "other", f"{strange}": "run", f"{strange}:other": "other",
    }.items():  # fmt: skip
        config, name = named(text)
        assert (str(config.path), name) == (text.removesuffix(":other"), wanted)


def test_of_a_config_that_is_not_there_the_path_is_told(tmp_path: Path):
    assert parted("none.toml:x") == (Path("none.toml"), "x")
    with pytest.raises(ConfigError, match=r"config file none\.toml: no such file"):
        named("none.toml:x")
