"""What the documents name is there: links, files, and in docs/architecture.md functions too."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    if "/prompts/" not in name
)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PATH = re.compile(
    r"`((?:schemas|mentor_stream|producers|consumers|trainer|tests|examples|docs|benchmarks)/[\w./-]*)`"
)
CARRIED = re.compile(r"`([\w/]+\.py)` \(`(\w+)`\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_path_on_a_page_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    missing += [
        path
        for path in PATH.findall(text)
        if not re.search("NAME|SCHEME", path) and not (ROOT / path).exists()
    ]
    assert not missing


def test_each_function_that_carries_a_promise_is_in_its_file() -> None:
    carried = CARRIED.findall((ROOT / "docs/architecture.md").read_text())
    assert len(carried) >= 5
    for path, name in carried:
        assert re.search(rf"def {name}\(", (ROOT / path).read_text()), f"{path}: {name}"
