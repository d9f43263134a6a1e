"""A comparison as one page of HTML that needs nothing from elsewhere. What models wrote is text in it.

tables.py      its figures
articles.py    its questions, with both hints beside each other
page.css, page.js    how it looks, and what finds and orders questions; the browser runs no other script
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from consumers.comparison.page.articles import article
from consumers.comparison.page.tables import tables

__all__ = ["page"]

FORM = """<form role="search">
<label>Search <input name="search" type="search" autocomplete="off"></label>
<label>Show <select name="kind"><option value="all">all questions
<option value="differ">results differ<option value="first">{first} did better
<option value="second">{second} did better<option value="words">hints differ
<option value="missing">a hint is missing</select></label>
<label>Order <select name="order"><option value="recorded">as recorded
<option value="most">largest difference first</select></label>
<output aria-live="polite"></output></form>
"""
FOOTER = (
    "<footer><kbd>/</kbd> searches, <kbd>j</kbd> and <kbd>k</kbd> go to the next question and back.</footer>"
)


def page(document: Mapping[str, Any]) -> str:
    """The comparison that `document` is."""
    names = [run["run"] for run in document["runs"]]
    first, second = map(escape, names)
    style, script = _asset("page.css"), _asset("page.js")
    rows = "".join(article(number, one, names) for number, one in enumerate(document["questions"], start=1))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{first} and {second}</title><style>\n{style}</style></head><body>\n"
        f'<header><h1>Hints of <span class="first">{first}</span> and '
        f'<span class="second">{second}</span></h1>{_guides(document)}</header>\n'
        f"<main>{tables(document)}<h2>Questions</h2>\n{FORM.format(first=first, second=second)}"
        f'<div id="questions">\n{rows}</div></main>\n{FOOTER}\n<script>{script}</script></body></html>\n'
    )


def _guides(document: Mapping[str, Any]) -> str:
    said = ", ".join(f"{run['run']} by {' and '.join(run['guides'])}" for run in document["runs"])
    return f'<p class="faint">The same failures, two mentor policies: {escape(said)}.</p>'


def _policy(script: str) -> str:
    """What the browser may do: show the page's own style and run its one script."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
