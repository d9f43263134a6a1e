"""What a finished run leaves behind."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import schemas
from mentor_stream import snapshots
from mentor_stream.config import Config, RunConfig
from mentor_stream.supervisor import curves
from mentor_stream.supervisor.history import History
from mentor_stream.supervisor.messages import finished
from mentor_stream.supervisor.results import Summary, copy_model, summarise
from tests.supervisor.test_figures import a_metric, a_step


def a_history(*metrics: schemas.Metric) -> History:
    history = History()
    for offset, metric in enumerate(metrics):
        history.add(metric, offset)
    return history


def a_release(**consumed: int) -> schemas.PolicyRelease:
    return schemas.PolicyRelease(
        policy_version=9,
        step=9,
        uri="x",
        digest="y",
        consumed=schemas.Consumed(**consumed),
        final=True,
        published_at=0,
    )


def test_versions_repeated_after_a_resume_replace_the_ones_that_were_undone() -> None:
    first = [a_step(version, reward=0.1) for version in (1, 2, 3)]
    history = a_history(*first, a_step(2, reward=0.7))
    assert sorted(history.steps) == [1, 2]
    assert history.steps[2].values["reward"] == 0.7
    assert history.undone == {1, 2}


def test_time_at_work_leaves_pauses_out() -> None:
    history = a_history(*(a_metric("rollout", time=t) for t in (0, 10, 20, 5000, 5010)))
    assert history.seconds == 30


def test_a_summary_tells_before_from_after() -> None:
    history = a_history(
        a_metric("evaluator", version=0, heldout_accuracy=0.01, heldout_questions=500),
        a_metric("evaluator", version=9, heldout_accuracy=0.97, heldout_questions=500),
    )
    summary = summarise("x", a_release(resolved=100, guided=40, rescued=30, tokens=8800), history)
    assert (summary.accuracy_before, summary.accuracy_after, summary.heldout_questions) == (0.01, 0.97, 500)
    assert (summary.groups, summary.rescue_rate, summary.tokens) == (140, 0.75, 8800)


def test_a_run_without_evaluations_or_lessons_has_a_summary_too() -> None:
    summary = summarise("x", a_release(), a_history())
    assert (summary.accuracy_before, summary.accuracy_after, summary.rescue_rate) == (None, None, None)


def test_the_model_is_copied_without_the_manifest_and_only_if_it_is_sound(tmp_path: Path) -> None:
    snapshot = snapshots.write(
        tmp_path / "snapshots", 3, lambda d: (d / "config.json").write_text("{}") and None
    )
    for _ in range(2):
        copy_model(snapshot.path, snapshot.digest, tmp_path / "model")
        assert [p.name for p in (tmp_path / "model").iterdir()] == ["config.json"]
    (snapshot.path / "config.json").write_text(json.dumps({"damaged": True}))
    with pytest.raises(snapshots.SnapshotError):
        copy_model(snapshot.path, snapshot.digest, tmp_path / "model")
    assert (tmp_path / "model" / "config.json").read_text() == "{}"


def test_the_curves_are_four_panels_in_one_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **k: (drawn.append(figure), save(figure, *a, **k))
    )
    history = a_history(
        a_metric("evaluator", version=0, heldout_accuracy=0.0, generated_tokens=0),
        a_step(1, reward=0.1, zero_reward_fraction=1.0, generated_tokens=100),
        a_step(2, reward=0.2, zero_reward_fraction=0.9, generated_tokens=200),
    )
    curves.draw(history, "a run", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    titles = [axes.get_title(loc="left") for axes in drawn[0].axes]
    assert titles == ["Held-out accuracy", "Reward", "Zero-reward groups", "Rescue rate"]
    rewards = drawn[0].axes[1].lines[0]
    assert list(rewards.get_xdata()) == [100, 200]
    assert list(rewards.get_ydata()) == [0.1, 0.2]
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    assert [text.get_text() for text in drawn[0].axes[3].texts] == [
        "share of guided groups with a right sample",
        "not measured",
    ]


def test_a_running_mean_is_centred_and_as_long_as_what_it_smooths() -> None:
    assert curves.running_mean([0, 0, 1, 0, 0], width=3) == [0, 1 / 3, 1 / 3, 1 / 3, 0]
    assert curves.running_mean([], width=5) == []


@pytest.mark.parametrize(
    ("versions", "tokens", "goes_on"),
    [
        (10, 500, False),
        (11, 500, True),
        (10, 501, False),
        (None, 501, True),
        (11, 200, False),
        (None, None, True),
        (5, None, False),
    ],
)
def test_a_run_goes_on_when_its_end_has_been_moved_behind_what_it_came_to(
    tmp_path: Path, versions: int | None, tokens: int | None, *, goes_on: bool
) -> None:
    ended = Summary(
        run="r", policy_version=10, accuracy_before=None, accuracy_after=None, evaluated_version=None,
        heldout_questions=None, tokens=400, groups=0, collapsed=0, guided=0, rescued=0, stale=0, minutes=0.0,
        max_versions=10, max_tokens=500,
    )  # fmt: skip
    end = {name: n for name, n in (("max_versions", versions), ("max_tokens", tokens)) if n is not None}
    where = {"name": "r", "directory": tmp_path, "broker": "sqlite:///x.db", "policy": tmp_path}
    run = RunConfig.model_validate(where | end)
    assert ended.goes_on(run) is goes_on


def test_lessons_that_failed_are_told_beside_those_that_did_not() -> None:
    summary = summarise("x", a_release(resolved=1000, collapsed=962, guided=920, rescued=818), a_history())
    console = Console(file=io.StringIO(), width=100)
    run = RunConfig.model_validate({"name": "x", "directory": "d", "broker": "sqlite:///b", "policy": "p"})
    console.print(finished(summary, Config(path=Path("x.toml"), sections={"run": run})))
    assert isinstance(console.file, io.StringIO)
    assert "920, 89% rescued the question; 102 collapsed, beside the plain ones" in console.file.getvalue()
