"""What retraining tells: the verdict at its end, and a disk that takes no more of it."""

from pathlib import Path

import pytest

from mentor_stream.config import ConfigError
from trainer.retraining.told import Told


@pytest.mark.parametrize(
    ("last", "count", "said"),
    [
        (2, 2, "2 versions; "),
        (22, 2, "2 versions, 21 to 22; "),
        (1, 1, "1 version; "),
        (4, 0, "0 versions; "),
    ],
)
def test_the_verdict_counts_what_was_trained_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], last: int, count: int, said: str
):
    told = Told(tmp_path / "steps.jsonl", {}, as_json=False)
    for version in range(last - count + 1, last + 1):
        told.stepped(version, 4, None)
    told.ended(last, 0, tmp_path)
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_a_disk_that_fills_while_steps_are_told_is_named():
    told = Told(Path("/dev/full"), {}, as_json=True)
    with pytest.raises(ConfigError, match=r"--to is '/dev': it cannot be written \(No space left"):
        told.stepped(1, 4, None)
