"""`mentor-stream metrics list`: on a terminal, in a pipe, and a part of it."""

import os
import pty
import re
import subprocess
import sys
import termios

import pytest

from mentor_stream.metrics import catalogue
from tests.runs import as_json, mentor_stream

COMMAND = [sys.executable, "-m", "mentor_stream.cli", "metrics", "list"]
STYLES = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(columns: int) -> list[str]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(COMMAND, stdout=theirs, stdin=theirs, env=environment | {"TERM": "xterm"}):
        os.close(theirs)
        found = b""
        try:
            while read := os.read(ours, 65536):
                found += read
        except OSError:  # Linux: nobody writes any more
            pass
    os.close(ours)
    return [STYLES.sub("", line).rstrip() for line in found.decode().splitlines()]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_gets_lines_that_fit_and_names_and_words_that_are_whole(columns: int):
    lines = on_a_terminal(columns)
    assert max(map(len, lines)) <= columns
    whole = " ".join(" ".join(lines).split())
    for measure in catalogue.ALL:
        if len(measure.name) <= columns:
            assert measure.name in lines or any(line.startswith(f"{measure.name} ") for line in lines)
        if columns == 80:
            assert f"what {' '.join(measure.means.split())}" in whole


def test_a_pipe_gets_each_sentence_on_a_line():
    lines = mentor_stream("metrics", "list").stdout.splitlines()
    for measure in catalogue.ALL:
        assert f"  what: {measure.means}" in lines
        assert f"  otherwise: {measure.act}" in lines


def test_a_word_chooses_by_name_and_meaning():
    found = as_json("metrics", "list", "StalenesS")["metrics"]
    assert 0 < len(found) < len(catalogue.ALL)
    assert all("staleness" in f"{one['name']} {one['means']}".casefold() for one in found)
    done = mentor_stream("metrics", "list", "no such word")
    assert (done.returncode, "no metric has 'no such word'" in done.stderr) == (2, True)
