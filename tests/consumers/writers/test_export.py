"""`mentor-stream metrics export`: each record once, whatever happens on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from consumers.writers import progress, tensorboard
from consumers.writers.points import Point
from mentor_stream import topics
from mentor_stream.config import RunConfig
from mentor_stream.stream import connect
from schemas import Metric
from tests.metrics.asking import until
from tests.runs import mentor_stream, url, write_config

EXPORT = "import sys; from mentor_stream.cli import main; main()"


def publish(directory: Path, metrics: Iterable[Metric]) -> None:
    async def main() -> None:
        async with connect(url(directory), "run", "trainer") as stream:
            for metric in metrics:
                await stream.publish(topics.METRICS, metric)

    anyio.run(main, backend="trio")


def steps(*versions: int, loss: float = 1.0) -> list[Metric]:
    return [
        Metric(
            component="trainer", instance="h:1", time=float(v), policy_version=v, values={"loss": loss * v}
        )
        for v in versions
    ]


def scalars(directory: Path, series: str = "trainer", tag: str = "trainer/loss") -> list[tuple[int, float]]:
    """As TensorBoard reads them."""
    found = EventAccumulator(str(directory / series), size_guidance={"scalars": 0})
    found.Reload()
    return (
        [(event.step, event.value) for event in found.Scalars(tag)] if tag in found.Tags()["scalars"] else []
    )


def export(directory: Path, *options: str, to: str = "tensorboard", config: str = "") -> tuple[int, str]:
    config = config or write_config(directory)
    done = mentor_stream("metrics", "export", config, str(directory / "out"), "--to", to, *options)
    return done.returncode, done.stderr


def test_it_says_how_much_was_new(tmp_path: Path) -> None:
    publish(tmp_path, steps(1, 2, 3))
    command = ["metrics", "export", write_config(tmp_path), str(tmp_path / "out"), "--to", "tensorboard"]
    for new in (3, 0):
        assert (
            mentor_stream(*command).stdout
            == f"{new} new records written for tensorboard, in {tmp_path}/out\n"
        )


def test_curves_stand_in_tensorboard_by_policy_version(tmp_path: Path) -> None:
    publish(tmp_path, steps(1, 2, 3))
    assert export(tmp_path) == (0, "")
    assert scalars(tmp_path / "out") == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_called_again_it_goes_on_from_where_it_was(tmp_path: Path) -> None:
    publish(tmp_path, steps(1, 2))
    export(tmp_path)
    export(tmp_path)
    publish(tmp_path, steps(3))
    export(tmp_path)
    assert scalars(tmp_path / "out") == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_what_a_resumed_trainer_took_back_is_forgotten(tmp_path: Path) -> None:
    publish(tmp_path, [*steps(1, 2, 3), *steps(2, loss=10.0)])
    export(tmp_path)
    assert scalars(tmp_path / "out") == [(1, 1.0), (2, 20.0)]


def test_points_behind_the_last_place_that_was_kept_are_not_there_twice(tmp_path: Path) -> None:
    publish(tmp_path, steps(1, 2))
    export(tmp_path)
    kept = (tmp_path / "out" / progress.NAME).read_bytes()
    publish(tmp_path, steps(3))
    export(tmp_path)
    (tmp_path / "out" / progress.NAME).write_bytes(kept)  # as a crash between points and place leaves it
    export(tmp_path)
    assert scalars(tmp_path / "out") == [(1, 1.0), (2, 2.0), (3, 3.0)]


@pytest.mark.parametrize("torn", range(1, 60, 7))
def test_a_point_that_a_crash_tore_is_cut_off(tmp_path: Path, torn: int) -> None:
    point = Point("trainer", 1, 0.0, {"trainer/loss": 1.0}, rewound=False)
    run = RunConfig(name="run", directory=tmp_path, broker="", policy=tmp_path)
    with tensorboard.opened(tmp_path, run, {}) as writer:
        writer.write(point)
        marks = writer.flush()
        writer.write(point._replace(step=2))
        writer.flush()
    file = tmp_path / "trainer" / tensorboard.NAME
    os.truncate(file, marks["trainer"] + torn)
    with tensorboard.opened(tmp_path, run, marks) as writer:
        writer.write(point._replace(step=2))
        writer.flush()
    assert scalars(tmp_path) == [(1, 1.0), (2, 1.0)]


def test_killed_at_any_moment_while_it_follows_each_record_is_there_once(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    command = ["metrics", "export", config, str(out), "--to", "tensorboard", "--follow"]
    publish(tmp_path, steps(0))
    for last in (100, 200, 300):
        with subprocess.Popen([sys.executable, "-c", EXPORT, *command]) as following:
            publish(tmp_path, steps(*range(last - 99, last + 1)))
            until(lambda last=last: _reached(out) > last - 100)
            following.kill()
    export(tmp_path)
    assert [step for step, _ in scalars(out)] == list(range(301))


def _reached(out: Path) -> int:
    path = out / progress.NAME
    return json.loads(path.read_text())["reached"]["offset"] if path.exists() else 0


def test_asked_to_stop_it_keeps_its_place_and_says_so(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    publish(tmp_path, steps(1, 2))
    command = ["metrics", "export", config, str(out), "--to", "tensorboard", "--follow"]
    with subprocess.Popen([sys.executable, "-c", EXPORT, *command], stderr=subprocess.PIPE) as following:
        until(lambda: _reached(out) == 2)
        following.send_signal(signal.SIGTERM)
        _, complaint = following.communicate(timeout=60)
    assert following.returncode == 128 + signal.SIGTERM
    assert complaint == b""


def test_a_directory_of_another_run_or_writer_or_stream_is_refused(tmp_path: Path) -> None:
    publish(tmp_path, steps(1, 2))
    export(tmp_path)
    code, complaint = export(tmp_path, config=write_config(tmp_path, name="other"))
    assert code == 2
    assert "it holds run 'run' for tensorboard. Name another one" in complaint
    code, complaint = export(tmp_path, to="wandb")
    assert (code, "for tensorboard" in complaint) == (2, True)
    (tmp_path / "stream.db").unlink()
    publish(tmp_path, steps(1))
    code, complaint = export(tmp_path)
    assert (code, "the stream was made anew. Name another DIR" in complaint) == (2, True)


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: os.truncate(file, 10)])
def test_files_that_somebody_shortened_are_not_gone_on_with(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    publish(tmp_path, steps(1, 2))
    export(tmp_path)
    damage(tmp_path / "out" / "trainer" / tensorboard.NAME)
    code, complaint = export(tmp_path)
    assert (code, "is not what was written" in complaint) == (2, True)


@pytest.mark.parametrize("name", ["out/trainer", f"out/trainer/{tensorboard.NAME}/x"])
def test_what_the_disk_refuses_is_said_once_and_the_records_are_written_when_it_no_longer_does(
    tmp_path: Path, name: str
) -> None:
    publish(tmp_path, steps(1))
    in_the_way = tmp_path / name
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("somebody's")
    code, told = export(tmp_path)
    assert code == 2
    (line,) = told.splitlines()
    assert f"DIR is '{tmp_path}/out': it cannot be written (" in line
    in_the_way.unlink()
    shutil.rmtree(tmp_path / "out/trainer", ignore_errors=True)
    assert export(tmp_path) == (0, "")
    assert scalars(tmp_path / "out") == [(1, 1.0)]


def test_two_at_once_do_not_write_into_one_directory(tmp_path: Path) -> None:
    publish(tmp_path, steps(1))
    with progress.held(tmp_path / "out"):
        code, complaint = export(tmp_path)
    assert (code, "another process writes there" in complaint) == (2, True)


def test_a_library_that_is_not_there_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, steps(1))
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    code, complaint = export(tmp_path)
    assert code == 2
    assert "pip install 'mentor-stream[tensorboard]'" in complaint


def test_wandb_has_a_run_under_its_name_without_any_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "WANDB_MODE", "offline")
    publish(tmp_path, steps(1, 2))
    config = write_config(tmp_path)
    command = ["metrics", "export", config, str(tmp_path / "out"), "--to", "wandb"]
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, *command], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert _history(tmp_path / "out") == [
        {"policy_version": 1, "trainer/loss": 1.0},
        {"policy_version": 2, "trainer/loss": 2.0},
    ]
    assert _reached(tmp_path / "out") == 2


def _history(out: Path) -> list[dict[str, float]]:
    """Rows of wandb's own file of a run that was not sent anywhere."""
    from wandb.proto.wandb_internal_pb2 import Record

    (file,) = out.glob("wandb/offline-run-*-run/run-run.wandb")
    rows: list[dict[str, float]] = []
    for data in _records(file.read_bytes()[7:]):
        record = Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = {
                item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item
            }
            rows.append({name: items[name] for name in ("policy_version", "trainer/loss")})
    return rows


def _records(log: bytes) -> Iterable[bytes]:
    """Of a log in LevelDB's format, each in one block: a checksum, the length, the type, the record."""
    place = 0
    while place + 7 < len(log):
        length = int.from_bytes(log[place + 4 : place + 6], "little")
        yield log[place + 7 : place + 7 + length]
        place += 7 + length


def test_wandb_without_a_key_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, steps(1))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WANDB")}
    command = ["metrics", "export", write_config(tmp_path), str(tmp_path / "out"), "--to", "wandb"]
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, *command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment | {"HOME": str(tmp_path), "WANDB_BASE_URL": "http://127.0.0.1:9"},
    )
    assert done.returncode == 2
    assert "Set WANDB_API_KEY in the environment, or WANDB_MODE=offline" in done.stderr
    assert ".." not in done.stderr, "their sentence has its full stop already"
    assert "Traceback" not in done.stderr
