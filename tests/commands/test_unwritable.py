"""Whatever a user names to write to and cannot be written: one line with the option and the way out."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from mentor_stream import stream, topics
from mentor_stream.stream import Stream
from schemas import Diagnosis, Metric, Outcome
from tests.builders import a_group, a_guided_query, a_query
from tests.runs import mentor_stream, url

ROOT = Path(__file__).parents[2]
POLICY = ROOT / "examples/chain/policy"


class Writing(NamedTuple):
    """An option that names what is written."""

    option: str
    """As it is told; empty for an argument that its own text names."""
    of: str
    """folder, or the suffix of a file."""
    command: Callable[[str, str, Path], list[str]]
    """Given the config, the place and a folder with all that is read."""


WRITING = {
    "compare": Writing("--html", ".html", lambda c, to, _: ["compare", c, f"{c}:again", "--html", to]),
    "compare --samples": Writing(
        "--out",
        "folder",
        lambda c, to, _: ["compare", c, f"{c}:again", "--samples", "1", "--out", to],
    ),
    "eval": Writing(
        "--out",
        "folder",
        lambda _, to, here: [
            "eval", str(POLICY), "--suite", f"{here}/sums.toml", "--questions", "1", "--out", to,
        ],
    ),
    "export a database": Writing("", ".db", lambda c, to, _: ["export", c, to]),
    "export a table": Writing("", ".parquet", lambda c, to, _: ["export", c, to]),
    "import into a database": Writing("TO", ".db", lambda _, to, here: ["import", f"{here}/in.parquet", to]),
    "import into a folder": Writing("TO", "folder", lambda _, to, here: ["import", f"{here}/in.parquet", to]),
    "metrics export": Writing(
        "DIR", "folder", lambda c, to, _: ["metrics", "export", c, to, "--to", "tensorboard"]
    ),
    "replay": Writing(
        "--cache", "folder", lambda c, to, _: ["replay", "--from", c, "--to", "third", "--cache", to]
    ),
    "retrain": Writing(
        "--to", "folder", lambda c, to, _: ["retrain", "--from", c, "--to", to, "--rebatch"]
    ),
}  # fmt: skip


async def fill(run: Stream, hint: str, metric: Metric) -> None:
    for number in range(4):
        query = a_query(f"What is {number} + {number}?", f"{2 * number}", position=number)
        lesson = a_guided_query(query, hint)
        assert lesson.hint
        await run.publish(topics.COLLAPSED, a_group("WWWW", query=query))
        await run.publish(topics.GUIDED, lesson)
        await run.publish(topics.GROUPS, a_group("RWWW", query=lesson))
        await run.publish(
            topics.DIAGNOSES,
            Diagnosis(
                group_id=lesson.hint.group_id, query_id=query.query_id, guide="scripted", round=1,
                outcome=Outcome.HINT, reason="passed", hint=lesson.hint, guided_query_id=lesson.query_id,
                policy_version=0,
            ),
        )  # fmt: skip
    await run.publish(topics.METRICS, metric)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, a second one on the same broker, an archive of the first and a suite."""
    folder = tmp_path_factory.mktemp("run")

    async def main() -> None:
        for name in ("run", "again"):
            async with stream.connect(url(folder), name, "test") as run:
                await fill(
                    run, f"a hint of {name}", Metric(component="x", instance="y", time=1.0, values={"z": 1.0})
                )

    anyio.run(main, backend="trio")
    (folder / "run.toml").write_text(
        f"""
        [run]
        name = "run"
        directory = "{folder}/run"
        broker = "{url(folder)}"
        policy = "{POLICY}"
        [data]
        train = "{ROOT}/examples/chain/train.jsonl"
        [prompt]
        template = "{{question}}"
        max_prompt_tokens = 16
        [rollout]
        max_new_tokens = 8
        engine = {{ kind = "transformers", device = "cpu" }}
        [mentor]
        leak_guard = "text"
        [mentor.guide]
        kind = "fdcg"
        agents = {{ kind = "examples.chain.mentor_agents" }}
        """
    )
    done = mentor_stream("export", str(folder / "run.toml"), str(folder / "in.parquet"))
    assert done.returncode == 0, done.stderr
    (folder / "sums.jsonl").write_text('{"question": "1+1", "answer": "2"}\n')
    (folder / "sums.toml").write_text(
        f'title = "Sums"\nquestions = "{folder}/sums.jsonl"\nverifier = {{ kind = "exact" }}\n'
        "max_new_tokens = 4\n"
    )
    return folder


def below_a_file(place: Path) -> str:
    (place / "file").write_text("a file")
    return str(place / "file" / "x")


def in_a_loop(place: Path) -> str:
    (place / "loop").symlink_to(place / "loop")
    return str(place / "loop" / "x")


PLACES: dict[str, Callable[[Path], str]] = {
    "below /proc": lambda _: "/proc/no/such/place",
    "below a device": lambda _: "/dev/full/x",
    "below a file": below_a_file,
    "in a loop of links": in_a_loop,
    "under a name that is too long": lambda place: str(place / ("x" * 300)),
}


def refused(returncode: int, stderr: str, writing: Writing, place: str, code: int = 2) -> None:
    assert returncode == code, stderr
    said = stderr.splitlines()
    assert len(said) == 1, stderr
    assert said[0].startswith(f"mentor-stream: {writing.option}")
    assert place in said[0]
    assert any(way in said[0].lower() for way in ("name a", "name another", "make room"))


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("what", WRITING)
def test_a_place_that_cannot_be_is_named_with_its_option(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, where: str
):
    monkeypatch.chdir(ROOT)
    writing = WRITING[what]
    place = PLACES[where](tmp_path) + ("" if writing.of == "folder" else writing.of)
    done = mentor_stream(*writing.command(str(here / "run.toml"), place, here))
    refused(done.returncode, done.stderr, writing, place)


@pytest.mark.parametrize("what", WRITING)
def test_a_folder_is_no_file_and_a_file_no_folder(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
):
    monkeypatch.chdir(ROOT)
    writing = WRITING[what]
    place = tmp_path / ("x" if writing.of == "folder" else f"x{writing.of}")
    if writing.of == "folder":
        place.write_text("a file")
    else:
        place.mkdir()
        (place / "something").write_text("that is not to be lost")
    done = mentor_stream(*writing.command(str(here / "run.toml"), str(place), here))
    refused(done.returncode, done.stderr, writing, str(place))
    assert (place if writing.of == "folder" else place / "something").read_text()


@pytest.mark.parametrize("what", WRITING)
def test_folders_that_are_missing_are_made(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
):
    monkeypatch.chdir(ROOT)
    writing = WRITING[what]
    place = tmp_path / "no" / "such" / ("place" if writing.of == "folder" else f"place{writing.of}")
    if what == "retrain":
        return  # trains, which takes a while: tests/trainer/retraining/test_retrain.py
    done = mentor_stream(*writing.command(str(here / "run.toml"), str(place), here))
    assert done.returncode == 0, done.stderr
    assert place.exists()


@pytest.fixture
def on_a_disk(tmp_path: Path) -> Callable[[str], list[str]]:
    """What to put before a command, so that `disk` is one with these options to it."""
    place = tmp_path / "disk"
    place.mkdir()
    begin = ["unshare", "--map-root-user", "--mount", "sh", "-c"]

    def mounted(options: str) -> list[str]:
        fill = f"dd if=/dev/zero of={place}/filling bs=16k count=1"
        mount = f"mount -t tmpfs -o size=16k tmpfs {place} && {fill} && mount -o remount,{options} {place}"
        if not shutil.which("unshare") or subprocess.run([*begin, mount], capture_output=True).returncode:
            pytest.skip("needs the right to mount a small file system: Linux with user namespaces")
        return [*begin, f'({mount}) 2>/dev/null; exec "$@"', "sh"]

    return mounted


@pytest.mark.parametrize(
    ("disk", "code"), [("ro,size=16k", 2), ("rw,size=16k", 75)], ids=["read-only", "full"]
)
@pytest.mark.parametrize("what", WRITING)
def test_a_disk_that_takes_nothing_is_named_with_the_option(
    here: Path, tmp_path: Path, on_a_disk: Callable[[str], list[str]], what: str, disk: str, code: int
):
    """There may be room another time."""
    writing = WRITING[what]
    place = str(tmp_path / "disk" / "x") + ("" if writing.of == "folder" else writing.of)
    command = writing.command(str(here / "run.toml"), place, here)
    done = subprocess.run(
        [*on_a_disk(disk), sys.executable, "-m", "mentor_stream.cli", *command],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    refused(done.returncode, done.stderr, writing, place, code)
