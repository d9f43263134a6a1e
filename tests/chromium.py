"""The system's Chromium, driven by playwright; no browser is downloaded."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


def path() -> str | None:
    """Where it is: CHROMIUM, or on the PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


needs_chromium = pytest.mark.skipif(
    path() is None, reason="no Chromium: apt-get install chromium, or set CHROMIUM to the path of one"
)


@contextmanager
def launched() -> Generator[Browser]:
    """A browser."""
    with sync_playwright() as playwright:
        # root, as in containers, gets no sandbox from it; the pages are ours
        browser = playwright.chromium.launch(executable_path=path(), args=["--no-sandbox"])
        yield browser
        browser.close()
