"""The page of a comparison in a real browser: by keyboard, on a phone, with hostile text in it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from consumers.comparison import page
from tests import chromium

pytestmark = chromium.needs_chromium

HOSTILE = "</pre><script>document.title='taken'</script><img src=x onerror=document.title='taken'>\u202egnp"
NOTHING = {"right": 0, "judged": 0, "unscorable": 0, "refusal": None}


def a_side(hint: str | None, right: int) -> dict[str, Any]:
    return {
        "group_id": "g", "outcome": "hint" if hint else "silent", "hint": hint, "reason": "nothing came",
        "leaks": 0, "refined": 1, "redrafted": 0, "tokens": 1234, "seconds": 1.0, "right": None,
        "judged": None, "sampled": NOTHING | {"right": right, "judged": 8} if hint else None,
    }  # fmt: skip


def a_document(hostile: str) -> dict[str, Any]:
    """Four questions: better for the second, the same hint, none of the first, and one of hostile text."""
    way = {
        "cases": 4, "judged": 4, "questions": 4, "rescued": 2, "rescue_rate": 0.5,
        "rescue_interval": [0.25, 1.0], "accuracy": 0.25, "accuracy_interval": None, "refused": 0,
        "unscorable_answers": 1,
    }  # fmt: skip
    one = {
        "questions": 3,
        "difference": -0.1,
        "interval": [-0.4, 0.2],
        "p_value": 0.5,
        "better": 1,
        "worse": 2,
    }
    paired = {"cases": 3, "rescue": one, "accuracy": one}
    run = {
        "guides": ["fdcg"], "cases": 4, "undiagnosed": 1, "outcomes": {"hint": 3}, "hint_rate": 0.75,
        "leak_rate": 0.1, "refined": 0.5, "redrafted": 0.0, "tokens": 12345.6, "seconds": 2.0, "cost": 0.0,
        "answered": 0, "rescue_rate": None, "accuracy": None, "sampled": way | {"against_none": paired},
    }  # fmt: skip
    sides = [
        (a_side("Count on.", 1), a_side("Use your fingers.", 5)),
        (a_side("The same.", 2), a_side("The same.", 2)),
        (a_side(None, 0), a_side("Alone.", 3)),
        (a_side(hostile * 60, 8), a_side("x" * 4000, 1)),
    ]
    questions = [
        {"question": f"Question {number}", "sampled": NOTHING | {"judged": 8}, "sides": list(two)}
        for number, two in enumerate(sides, start=1)
    ]
    questions[3]["question"] = f"{hostile} 4"
    sampled = {
        "model": "a/model", "policy": "policy 3, the newest release of run", "samples": 8, "temperature": 1.0,
        "max_new_tokens": 64, "engine": "transformers", "seed": 0, "unknown_cases": 0, "none": way,
        "paired": paired, "warning": f"no room {hostile}",
    }  # fmt: skip
    names = ("run" if hostile == HOSTILE else hostile, "again")
    return {
        "sampled": sampled,
        "runs": [run | {"run": name} for name in names],
        "questions": questions,
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.launched() as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens the page of a document, on a screen of some width, and hears what goes wrong."""
    said: list[str] = []
    contexts: list[Any] = []

    def open_page(document: dict[str, Any], width: int = 1280) -> Page:
        (tmp_path / "page.html").write_text(page.page(document), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}))
        made = contexts[-1].new_page()
        made.on("console", lambda message: said.append(message.text))
        made.on("pageerror", lambda error: said.append(str(error)))
        made.on(
            "request", lambda asked: said.append(asked.url) if not asked.url.startswith("file:") else None
        )
        made.goto((tmp_path / "page.html").as_uri())
        return made

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def shown(page: Page) -> list[str]:
    """The numbers of the questions that are to be seen, in their order."""
    return [text.split()[0] for text in page.locator("article:not([hidden]) h3").all_text_contents()]


def test_samples_that_say_nothing_about_hints_are_said_to(opened: Callable[..., Page]):
    document = a_document("")
    document["sampled"]["warning"] = "92 % of the answers without a hint are right"
    said = "Beware: 92 % of the answers without a hint are right."
    assert opened(document).get_by_role("alert").inner_text() == said
    document["sampled"]["warning"] = None
    assert opened(document).get_by_role("alert").count() == 0


def test_questions_are_found_ordered_and_gone_through_by_keyboard_alone(opened: Callable[..., Page]):
    page = opened(a_document(HOSTILE))
    assert shown(page) == ["#1", "#2", "#3", "#4"]
    page.keyboard.press("/")
    page.keyboard.type("FINGERS")
    assert shown(page) == ["#1"]
    assert page.locator("output").inner_text() == "1 of 4 questions"
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.keyboard.press("Tab")
    page.keyboard.type("results")
    assert shown(page) == ["#1", "#4"]
    page.keyboard.press("Tab")
    page.keyboard.type("largest")
    assert shown(page) == ["#4", "#1"]
    page.keyboard.press("Escape")
    focused = "document.activeElement.dataset.place"
    for key, place in (("j", "4"), ("j", "1"), ("j", "1"), ("k", "4")):
        page.keyboard.press(key)
        assert page.evaluate(focused) == place


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("first", ["#4"]), ("second", ["#1"]), ("missing", ["#3"]), ("words", ["#1", "#3", "#4"])],
)
def test_a_filter_shows_what_it_says(opened: Callable[..., Page], kind: str, wanted: list[str]):
    page = opened(a_document(HOSTILE))
    page.select_option("select[name=kind]", kind)
    assert shown(page) == wanted


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(opened: Callable[..., Page], width: int):
    page = opened(a_document("long" * 40), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_text_is_shown_and_does_nothing(opened: Callable[..., Page]):
    page = opened(a_document(HOSTILE))
    assert page.title() == "run and again"
    assert page.locator("img").count() == 0
    assert page.locator("article").nth(3).locator(".question").text_content() == f"{HOSTILE} 4"
