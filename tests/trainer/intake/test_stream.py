"""The stream as the trainer sees it when retention was faster, or when it is another one."""

from functools import partial
from pathlib import Path
from threading import Event

import anyio
import pytest

import schemas
from mentor_stream import broker as brokers
from mentor_stream import stream, telemetry, topics
from mentor_stream.broker import OffsetGap, Receipt, TopicSpec
from mentor_stream.component import load_config
from mentor_stream.config import ConfigError
from tests.builders import a_group, a_query
from tests.runs import url, write_config
from tests.streams import everything
from trainer.intake import stream as trainer_stream
from trainer.intake.marks import Mark, mark_of
from trainer.intake.preparation import Batch, Preparation, Standing
from trainer.intake.stream import TrainerStream

FIRST, SECOND, LAST = (Receipt("run.groups", 0, offset) for offset in range(3))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A stream whose groups had three, of which only the last is kept."""

    async def publish(number: int) -> None:
        async with stream.connect(url(tmp_path), "run", "rollout") as connected:
            await connected.publish(topics.GROUPS, a_group(query=a_query(position=number)))

    async def create() -> None:
        async with brokers.connect(url(tmp_path)) as broker:
            room = 3 * len(schemas.encode(a_group())) // 2
            await broker.create_topics([TopicSpec("run.groups", retention_bytes=room)])

    anyio.run(create, backend="trio")
    for number in range(3):  # each by a producer of its own, which enforces retention at its first message
        anyio.run(partial(publish, number), backend="trio")
    return tmp_path


def metrics(directory: Path) -> list[dict[str, float]]:
    """The values of every metric on the stream."""

    async def read() -> list[dict[str, float]]:
        async with stream.connect(url(directory), "run", "test") as connected:
            return [metric.values for metric in await everything(connected, topics.METRICS)]

    return anyio.run(read, backend="trio")


def test_waiting_groups_that_are_gone_stop_the_trainer_and_say_the_way_out(directory: Path) -> None:
    config = load_config(Path(write_config(directory)))
    with trainer_stream.connect(config) as groups, pytest.raises(OffsetGap) as gap:
        groups.reread([FIRST, SECOND, LAST])
    for words in ("2 groups", "run.groups, partition 0, offset 0", "topics.groups.retention_hours", "on_gap"):
        assert words in str(gap.value)


def test_waiting_groups_that_are_gone_are_counted_when_so_configured(directory: Path) -> None:
    config = load_config(Path(write_config(directory, topics='on_gap = "earliest"')))
    with trainer_stream.connect(config) as groups:
        (found,) = groups.reread([FIRST, SECOND, LAST])
        groups.report({"step": 1.0}, 1)
    assert found.record.query == a_query(position=2)
    assert metrics(directory) == [{"step": 1.0, "records_skipped": 2}]


def test_waiting_groups_that_are_kept_are_no_gap(directory: Path) -> None:
    config = load_config(Path(write_config(directory)))
    with trainer_stream.connect(config) as groups:
        (found,) = groups.reread([LAST])
    assert found.record.query == a_query(position=2)


@pytest.mark.parametrize("on_gap", ["fail", "earliest"])
def test_a_position_beyond_the_end_is_another_stream_and_never_a_gap(directory: Path, on_gap: str) -> None:
    config = load_config(Path(write_config(directory, topics=f'on_gap = "{on_gap}"')))
    with trainer_stream.connect(config) as groups:
        groups.check([Receipt("run.groups", 0, 3)])
        with pytest.raises(ConfigError, match="this is not the stream"):
            groups.check([Receipt("run.groups", 0, 4)])


def the_last(directory: Path) -> Mark:
    """What is known of the only group that is kept."""
    config = load_config(Path(write_config(directory)))
    with trainer_stream.connect(config) as groups:
        (found,) = groups.reread([LAST])
    return mark_of(found.message)


def test_a_record_that_was_read_is_known_again(directory: Path) -> None:
    mark = the_last(directory)
    assert mark.place == LAST
    with trainer_stream.connect(load_config(Path(write_config(directory)))) as groups:
        groups.check([Receipt("run.groups", 0, 3)], [mark])


def test_another_record_where_one_was_read_is_another_stream(directory: Path) -> None:
    other = the_last(directory)._replace(digest="of a group from another dataset")
    with (
        trainer_stream.connect(load_config(Path(write_config(directory)))) as groups,
        pytest.raises(
            ConfigError,
            match=r"partition 0 has another record at 2 .*\(data\.train\).* another run\.directory",
        ),
    ):
        groups.check([Receipt("run.groups", 0, 3)], [other])


def test_a_record_that_retention_took_is_not_looked_for(directory: Path) -> None:
    with trainer_stream.connect(load_config(Path(write_config(directory)))) as groups:
        groups.check([Receipt("run.groups", 0, 3)], [Mark(FIRST, "gone")])


def gap_in(error: BaseException) -> OffsetGap:
    """The one gap that an error is about, as the command line finds it."""
    (cause,) = error.exceptions if isinstance(error, BaseExceptionGroup) else [error]
    return cause if isinstance(cause, OffsetGap) else gap_in(cause)


@pytest.fixture
def preparation(directory: Path) -> Preparation:
    """Of a run's batches."""
    return Preparation(load_config(Path(write_config(directory))), vocabulary=64, positions=128)


def taken(groups: TrainerStream, preparation: Preparation) -> Standing:
    """How things stand once a group was read, however long that takes."""
    while isinstance(found := groups.take(preparation, 0.05), Batch) or not found.read:
        pass
    return found


def test_groups_that_were_gone_before_they_were_read_stop_the_trainer(
    directory: Path, preparation: Preparation
) -> None:
    config = load_config(Path(write_config(directory)))
    with trainer_stream.connect(config) as groups:
        groups.start(preparation, [FIRST])
        with pytest.raises((OffsetGap, BaseExceptionGroup)) as caught:
            taken(groups, preparation)
    assert "run.groups, partition 0" in str(gap_in(caught.value))
    assert "topics.on_gap" in str(gap_in(caught.value))


def test_groups_that_were_gone_before_they_were_read_are_counted_when_so_configured(
    directory: Path, preparation: Preparation
) -> None:
    config = load_config(Path(write_config(directory, topics='on_gap = "earliest"')))
    with trainer_stream.connect(config) as groups:
        groups.start(preparation, [FIRST])
        assert taken(groups, preparation).read == 1
        assert preparation.bookmark.ledger.offsets == (Receipt("run.groups", 0, LAST.offset + 1),)
        groups.report({}, 1)
    assert metrics(directory) == [{"records_skipped": 2}]


def test_a_trainer_tells_between_steps_what_has_arrived(
    directory: Path, preparation: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "BEAT_SECONDS", 0.01)
    told = Event()

    def present(standing: Standing) -> dict[str, float]:
        told.set()
        return {"generated_tokens": float(standing.consumed.tokens)}

    with trainer_stream.connect(load_config(Path(write_config(directory)))) as groups:
        groups.beat(present, preparation)
        assert told.wait(30)
        while not (found := metrics(directory)):
            pass
    assert found[0] == {"generated_tokens": 0.0}


def test_a_trainer_that_hangs_tells_nothing(
    directory: Path, preparation: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Event()

    class Stuck:
        def stuck(self) -> list[str]:
            if self.before:
                looked.set()
            self.before = True
            return ["training has not turned"]

        before = False

    monkeypatch.setattr(telemetry, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(trainer_stream, "HEALTH", Stuck())
    with trainer_stream.connect(load_config(Path(write_config(directory)))) as groups:
        groups.beat(lambda _: {"generated_tokens": 1.0}, preparation)
        assert looked.wait(30)
    assert metrics(directory) == []
