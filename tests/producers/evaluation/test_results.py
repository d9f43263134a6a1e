"""The file of answers: gone on from, whatever its writer's end was."""

import resource
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mentor_stream.config import ConfigError
from producers.evaluation import results
from producers.evaluation.results import About, Answer, Asked
from schemas import Verdict

ABOUT = About(
    suite="sums", model="m", questions="q", prompt={"template": "{question}", "system": None}, verifier="{}",
    samples=1, temperature=0.0, top_p=1.0, max_new_tokens=8, seed=0, engine="transformers",
)  # fmt: skip


def asked(number: int, verdict: Verdict = Verdict.RIGHT) -> Asked:
    return Asked(f"id{number}", "2 + 4 ?", [Answer(verdict, "", 3, "stop", "6\n✓")])


def test_a_file_cut_off_at_any_byte_is_gone_on_from_and_loses_no_whole_line(tmp_path: Path):
    path = tmp_path / "out" / "sums.jsonl"
    with closing(results.opened(path, ABOUT)) as kept:
        kept.add(asked(0))
        kept.add(asked(1))
    whole = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(ends[0], len(whole) + 1):
        path.write_bytes(whole[:size])
        with closing(results.opened(path, ABOUT)) as kept:
            assert len(kept.asked) == sum(size >= end for end in ends[1:])
            kept.add(asked(2))
        assert results.read(path)[1][-1] == asked(2)
        assert len(results.read(path)[1]) == len(kept.asked)


def test_a_file_whose_first_line_was_never_written_whole_is_begun_anew(tmp_path: Path):
    path = tmp_path / "sums.jsonl"
    for size in range(len(msgspec.json.encode(ABOUT)) + 1):
        path.write_bytes(msgspec.json.encode(ABOUT)[:size])
        with closing(results.opened(path, ABOUT)) as kept:
            kept.add(asked(0))
        assert results.read(path) == (ABOUT, [asked(0)])


@pytest.mark.parametrize("place", ["", "file/sums.jsonl", "x" * 300])
def test_what_the_disk_refuses_is_said_with_the_option(tmp_path: Path, place: str):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(
        ConfigError, match=r"--out is .* it cannot be written \((Is a dir|.*/file is no folder|File name)"
    ):
        results.opened(tmp_path / place, ABOUT)


def test_answers_that_find_no_room_are_said_to(tmp_path: Path):
    kept = results.opened(tmp_path / "sums.jsonl", ABOUT)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kept.path.stat().st_size, limits[1]))
    try:
        with pytest.raises(
            ConfigError, match=r"--out is .*sums.jsonl': it cannot be written \(File too large"
        ):
            kept.add(asked(0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    kept.close()


def test_answers_of_another_model_are_not_gone_on_from(tmp_path: Path):
    path = tmp_path / "sums.jsonl"
    results.opened(path, ABOUT).close()
    other = msgspec.structs.replace(ABOUT, model="other", samples=4)
    with pytest.raises(ConfigError, match=r"model was 'm', is 'other', samples was 1, is 4.*another --out"):
        results.opened(path, other)


@pytest.mark.parametrize("content", [b"\n", b"no json\n", b'{"suite": 3}\n', b"[]\n\xff\n"])
def test_what_is_no_file_of_answers_is_said_to_be_none(tmp_path: Path, content: bytes):
    path = tmp_path / "sums.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is no file of answers"):
        results.opened(path, ABOUT)
    with pytest.raises(ConfigError, match="is no file of answers"):
        results.read(tmp_path / "nowhere.jsonl")


def test_only_what_was_judged_counts():
    verdicts = [Verdict.RIGHT, Verdict.UNSCORABLE, Verdict.WRONG, Verdict.ABORTED, Verdict.RIGHT]
    one = Asked("id", "?", [Answer(verdict, "", 1, "stop", "") for verdict in verdicts])
    assert one.count == (3, 2)


def test_two_evaluations_do_not_write_one_file(tmp_path: Path):
    path = tmp_path / "sums.jsonl"
    with closing(results.opened(path, ABOUT)) as kept:
        kept.add(asked(0))
        with pytest.raises(ConfigError, match="another evaluation writes there"):
            results.opened(path, ABOUT)
    results.opened(path, ABOUT).close()


def test_answers_that_another_evaluation_adds_while_a_file_is_read_are_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, parsed = tmp_path / "sums.jsonl", results._parsed
    results.opened(path, ABOUT).close()
    added: list[str] = []

    def add() -> None:
        monkeypatch.setattr(results, "_parsed", parsed)
        with suppress(ConfigError), closing(results.opened(path, ABOUT)) as other:
            other.add(asked(0))
            added.append(asked(0).question_id)

    def slowly(*arguments: Any) -> Any:
        found = parsed(*arguments)
        add()
        return found

    monkeypatch.setattr(results, "_parsed", slowly)
    results.opened(path, ABOUT).close()
    assert [one.question_id for one in results.read(path)[1]] == added


def turned(content: bytes) -> bytes:
    return content.replace(b'"wrong"', b'"right"', 1)


def moved(content: bytes) -> bytes:
    about, first, second, *rest = content.splitlines(keepends=True)
    return b"".join([about, second, first, *rest])


def taken_out(content: bytes) -> bytes:
    about, _, *rest = content.splitlines(keepends=True)
    return b"".join([about, *rest])


def of_another_model(content: bytes) -> bytes:
    return content.replace(b'"model":"m"', b'"model":"n"')


@pytest.mark.parametrize("change", [turned, moved, taken_out, of_another_model])
def test_answers_that_were_changed_by_hand_are_not_believed(tmp_path: Path, change: Callable[[bytes], bytes]):
    path = tmp_path / "sums.jsonl"
    with closing(results.opened(path, ABOUT)) as kept:
        for number, verdict in enumerate((Verdict.WRONG, Verdict.RIGHT, Verdict.WRONG)):
            kept.add(asked(number, verdict))
    written = path.read_bytes()
    path.write_bytes(change(written))
    assert path.read_bytes() != written
    with pytest.raises(ConfigError, match="line 2 is not as it was written"):
        results.read(path)
    path.write_bytes(written)
    assert len(results.read(path)[1]) == 3
