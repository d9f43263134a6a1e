"""What `check` says of run.snapshots."""

from pathlib import Path

import pytest

from mentor_stream.config import RunConfig
from tests.runs import as_json, write_config
from tests.storage import Storage
from trainer.config import TrainerConfig
from trainer.release import releases


def problems(directory: Path, snapshots: str) -> list[str]:
    """Those that are about the setting; the rest of the config is full of others."""
    config = Path(write_config(directory))
    config.write_text(config.read_text().replace("[run]\n", f'[run]\nsnapshots = "{snapshots}"\n'))
    return [p for p in as_json("check", str(config), code=2)["problems"] if "run.snapshots" in p]


def test_a_store_that_does_is_no_problem(storage: Storage, tmp_path: Path) -> None:
    assert problems(tmp_path, storage.url) == []


@pytest.mark.usefixtures("storage")
def test_a_bucket_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    (said,) = problems(tmp_path, "s3://no-such-bucket")
    assert "Make the bucket" in said


def test_a_password_in_the_url_is_refused_and_not_shown(tmp_path: Path) -> None:
    (said,) = problems(tmp_path, "s3://me:hush@bucket")
    assert "hush" not in said
    assert "AWS_SECRET_ACCESS_KEY" in said


def test_a_missing_package_is_named_once(tmp_path: Path) -> None:
    (said,) = problems(tmp_path, "gs://bucket/run")
    assert "gcsfs" in said


def test_a_directory_may_be_anywhere_but_on_a_file(tmp_path: Path) -> None:
    assert problems(tmp_path, str(tmp_path / "shared")) == []
    (tmp_path / "file").write_text("")
    (said,) = problems(tmp_path, str(tmp_path / "file"))
    assert "it is a file" in said


def test_a_directory_has_a_place_for_each_run(tmp_path: Path) -> None:
    run = RunConfig(
        name="mine",
        directory=tmp_path / "runs",
        broker="x",
        policy=tmp_path,
        snapshots=f"file://{tmp_path}/all",
    )
    assert releases(run, TrainerConfig(), stream=None).directory == tmp_path / "all" / "mine"  # type: ignore[arg-type]
