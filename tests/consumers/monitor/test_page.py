"""The page in a real browser: what a person sees, with a mouse, with keys, on a phone."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="pip install playwright")

from playwright.sync_api import Browser, Page, expect

from mentor_stream import topics
from tests import chromium
from tests.builders import a_group, a_query
from tests.cluster import free_ports
from tests.consumers.monitor.served import a_lesson, a_step, publish, serving
from tests.runs import url, write_config

pytestmark = chromium.needs_chromium
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
START = time.time() - 600


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which nothing may go wrong unnoticed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, timezone_id="UTC")
    opened, problems = context.new_page(), list[str]()
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    yield opened
    context.close()
    assert problems == []


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A run with curves and lessons, one of them hostile; its config."""
    steps = [a_step(n, START + 5 * n, reward=n / 20, rescue_rate=0.5, staleness_mean=1.0) for n in range(20)]
    lessons = [record for n in range(40) for record in a_lesson(n)]
    hostile = a_lesson(99, question=f"Hostile? {HOSTILE}", hint=HOSTILE, cause=HOSTILE)
    publish(url(tmp_path), *steps, *lessons, *hostile)
    return write_config(tmp_path, name="run")


def hints(page: Page):
    return page.locator("#list li")


def test_what_a_model_wrote_is_text_and_does_not_run(page: Page, run: str):
    with serving(run) as address:
        page.goto(address)
        newest = hints(page).first
        expect(newest.locator(".hint")).to_have_text(HOSTILE)
        newest.locator("summary").click()
        expect(newest.locator("details .text")).to_have_text(HOSTILE)
        newest.get_by_role("link", name="History").click()
        expect(page.locator("#story .asked")).to_contain_text(HOSTILE)
        expect(page.locator("#story .history > li")).to_have_count(4)
        assert page.title() == "run – Mentor Stream"  # noqa: RUF001
        assert page.locator("img, #list script, #story script").count() == 0


def test_curves_show_their_newest_values_and_those_under_the_cursor(page: Page, run: str):
    with serving(run) as address:
        page.goto(address)
        reward = page.locator("figure", has_text="Reward").first
        expect(reward.locator(".value")).to_have_text("0.95")
        chart = reward.locator("svg")
        box = chart.bounding_box()
        assert box
        page.mouse.move(box["x"] + 40, box["y"] + 50)
        expect(reward.locator(".value")).to_have_text("0")
        expect(reward.locator(".note")).to_contain_text("policy 0")
        expect(page.locator("figure", has_text="Staleness").locator(".note").first).to_contain_text(
            "policy 0"
        )
        page.mouse.move(5, 5)
        expect(reward.locator(".value")).to_have_text("0.95")
        expect(page.locator("figure", has_text="Mentor latency").locator("svg")).to_contain_text(
            "not measured"
        )


def test_everything_can_be_done_by_keyboard(page: Page, run: str):
    with serving(run) as address:
        page.goto(address)
        expect(hints(page)).to_have_count(30)
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the hints")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.locator("figure", has_text="Reward").first.locator("svg:focus").count():
                break
        focused = page.locator(":focus")
        page.keyboard.press("Home")
        expect(focused).to_have_attribute("aria-valuetext", re.compile(r"^0 at \d.*, policy 0$"))
        page.keyboard.press("ArrowRight")
        expect(focused).to_have_attribute("aria-valuenow", "1")
        page.keyboard.press("End")
        expect(focused).to_have_attribute("aria-valuenow", "19")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.locator("#words:focus").count():
                break
        page.keyboard.type("What is 7 +")
        page.keyboard.press("Enter")
        expect(page.locator("#found")).to_have_text("1 found.")
        expect(hints(page)).to_have_count(1)
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#story .asked")).to_have_text("What is 7 + 1?")
        happened = page.locator("#story .history > li")
        expect(happened).to_have_class(["group", "diagnosis", "hint", "group"])
        expect(happened.nth(1).get_by_text("cannot count").first).to_be_visible()  # without any unfolding
        page.keyboard.press("Escape")
        expect(page.locator("#story")).to_be_hidden()
        expect(page.locator(":focus")).to_have_text("History")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_all_without_scrolling_sideways(browser: Browser, run: str, scheme, tmp_path: Path):
    context = browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme, has_touch=True)
    page = context.new_page()
    with serving(run) as address:
        page.goto(address)
        expect(hints(page)).to_have_count(30, timeout=30_000)
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) == 360
        page.locator("#list li a").first.tap()
        expect(page.locator("#story .history > li")).to_have_count(4)
        assert page.evaluate("document.getElementById('story').scrollWidth") <= 360
        page.get_by_role("button", name="Close").tap()
        assert page.evaluate(width) == 360
        look = "getComputedStyle(document.documentElement)"
        colours = page.evaluate(f"[{look}.color, {look}.backgroundColor]")
        ink, ground = (sum(map(int, colour[4:-1].split(","))) for colour in colours)
        assert (ink < ground) == (scheme == "light")
        assert len(page.screenshot()) > 10_000
    context.close()


def test_what_is_published_is_seen_at_once_and_moves_nothing_that_is_read(
    page: Page, run: str, tmp_path: Path
):
    with serving(run) as address:
        page.goto(address)
        expect(hints(page)).to_have_count(30)
        publish(url(tmp_path), *a_lesson(200)[:3], a_step(20, START + 100, reward=0.97))
        expect(hints(page).first).to_contain_text("Count on from 200.")
        expect(hints(page).first).to_contain_text("not answered yet")
        expect(page.locator("figure", has_text="Reward").first.locator(".value")).to_have_text("0.97")
        publish(url(tmp_path), a_lesson(200)[3])
        expect(hints(page).first).to_contain_text("1 of 4 right")
        hints(page).first.hover()
        publish(url(tmp_path), *a_lesson(201))
        fresh = page.get_by_role("button", name="Show 1 new")
        expect(fresh).to_be_visible()
        expect(hints(page).first).to_contain_text("Count on from 200.")
        fresh.click()
        expect(hints(page).first).to_contain_text("Count on from 201.")


def test_a_server_that_comes_back_is_followed_on_without_gaps_or_repeats(
    page: Page, run: str, tmp_path: Path
):
    (port,) = free_ports(1)
    with serving(run, port=port) as address:
        page.goto(address)
        expect(page.locator("#connection")).to_have_text("live")
        expect(hints(page)).to_have_count(30)
    expect(page.locator("#connection")).to_contain_text("server away, shown as of")
    publish(url(tmp_path), *a_lesson(300), a_step(20, START + 100), a_step(21, START + 105))
    with serving(run, port=port):
        expect(page.locator("#connection")).to_have_text("live")
        expect(hints(page).first).to_contain_text("Count on from 300.")
        ids = page.evaluate("[...document.querySelectorAll('#list li')].map(one => one.dataset.id)")
        assert len(ids) == len(set(ids)) == 31
        chart = page.locator("figure", has_text="Reward").first.locator("svg")
        expect(chart).to_have_attribute("aria-valuemax", "21")
        publish(url(tmp_path), *a_lesson(301))
        expect(hints(page).first).to_contain_text("Count on from 301.")


def test_older_hints_are_read_again_and_a_run_that_has_not_begun_is_waited_for(page: Page, tmp_path: Path):
    config = write_config(tmp_path, name="run")
    with serving(config) as address:
        page.goto(address)
        expect(page.locator("#connection")).to_have_text("broker away")
        expect(page.locator("#trouble")).to_contain_text("does not exist yet")
        expect(page.locator("#none")).to_be_visible()
        publish(url(tmp_path), *(record for n in range(70) for record in a_lesson(n)))
        expect(page.locator("#connection")).to_have_text("live")
        expect(page.locator("#trouble")).to_be_hidden()
        expect(hints(page)).to_have_count(30)
        older = page.get_by_role("button", name="Older hints")
        for shown in (60, 70):
            older.click()
            expect(hints(page)).to_have_count(shown)
        older.click()
        expect(older).to_be_hidden()
        numbers = page.evaluate("[...document.querySelectorAll('#list .hint')].map(one => one.textContent)")
        assert numbers == [f"Count on from {n}." for n in range(69, -1, -1)]


def test_of_a_hint_without_a_diagnosis_the_page_says_that_none_was_found(page: Page, tmp_path: Path):
    publish(url(tmp_path), *(told for told in a_lesson(1) if told[0] is not topics.DIAGNOSES))
    with serving(write_config(tmp_path, name="run")) as address:
        page.goto(address)
        expect(hints(page).first).to_contain_text("No diagnosis of this hint was found.")
        hints(page).first.get_by_role("link", name="History").click()
        expect(page.locator("#story .history > .hint")).to_contain_text(
            "No diagnosis of this hint was found."
        )
        expect(page.locator("#story .history > li")).to_have_count(3)


def test_the_verdict_stands_at_the_top_and_any_question_is_found_by_keyboard_on_a_phone(
    browser: Browser, run: str, tmp_path: Path
):
    plain = a_query(f"Never taught? {HOSTILE}", "5", position=500)
    publish(url(tmp_path), (topics.GROUPS, a_group("RWWW", query=plain)))
    page = browser.new_page(viewport={"width": 320, "height": 700})
    with serving(run) as address:
        page.goto(address)
        expect(page.locator("#verdict")).to_contain_text("Nothing has reported for")
        expect(page.locator("#verdict")).to_have_attribute("data-state", "stopped")
        page.locator("#words").focus()
        page.keyboard.type("never TAUGHT")
        page.keyboard.press("Enter")
        expect(page.locator("#found")).to_have_text("1 found.")
        found = hints(page).first
        expect(found.locator(".question")).to_have_text(f"Never taught? {HOSTILE}")
        expect(found).to_contain_text("no hint")
        expect(found.locator(".score")).to_have_text("1 of 4 right")
        found.get_by_role("link", name="History").press("Enter")
        expect(page.locator("#story .history > li")).to_have_count(1)
        page.keyboard.press("Escape")
        assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.close()
