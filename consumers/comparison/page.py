"""A comparison as one page of HTML that needs nothing from elsewhere. What models wrote is text in it."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
:root {{ color-scheme: light dark; font: 16px/1.45 system-ui, sans-serif }}
body {{ margin: 0 auto; max-width: 76rem; padding: 1rem }}
table {{ border-collapse: collapse; margin: 1rem 0; width: 100% }}
th, td {{ border-bottom: 1px solid #8886; padding: .35rem .6rem; text-align: left; vertical-align: top }}
article {{ border-top: 2px solid #8886; padding: .8rem 0 }}
article > div {{ display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)) }}
pre {{ font: inherit; margin: .2rem 0; overflow-wrap: anywhere; white-space: pre-wrap }}
small {{ opacity: .75 }} input {{ font: inherit; padding: .4rem; width: 100% }}
</style></head><body><h1>{title}</h1>
"""
SEARCH = """<label>Search <input id="search" autofocus></label><script>
document.getElementById("search").oninput = event => {
  const wanted = event.target.value.toLowerCase();
  for (const one of document.querySelectorAll("article"))
    one.hidden = !one.textContent.toLowerCase().includes(wanted);
};
</script>
"""
MEASURES = {
    "cases": "cases",
    "hint_rate": "cases with a hint",
    "leak_rate": "cases with a refused leak",
    "refined": "repairs a case",
    "redrafted": "fresh drafts a case",
    "tokens": "tokens a case",
    "seconds": "seconds a case",
    "cost": "cost",
    "answered": "hints that were answered with",
    "rescue_rate": "of those, questions rescued",
    "accuracy": "right answers with a hint",
}


def page(document: Mapping[str, Any]) -> str:
    """The comparison that `document` is."""
    runs = document["runs"]
    title = escape(f"{runs[0]['run']} and {runs[1]['run']}")
    rows = "".join(_article(one, [run["run"] for run in runs]) for one in document["questions"])
    return f"{HEAD.format(title=title)}{_figures(runs)}{SEARCH}{rows}</body></html>\n"


def shown(value: Any) -> str:
    """A figure in words."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def _figures(runs: Sequence[Mapping[str, Any]]) -> str:
    heads = "".join(
        f"<th>{escape(run['run'])}<br><small>{escape(', '.join(run['guides']))}</small>" for run in runs
    )
    lines = [
        f"<tr><th>{escape(words)}" + "".join(f"<td>{shown(run[name])}" for run in runs)
        for name, words in MEASURES.items()
    ]
    return f"<table><tr><th>{heads}{''.join(lines)}</table>\n"


def _article(one: Mapping[str, Any], names: Sequence[str]) -> str:
    sides = "".join(map(_side, one["sides"], names))
    return f"<article><pre>{escape(one['question'])}</pre><div>{sides}</div></article>\n"


def _side(side: Mapping[str, Any], name: str) -> str:
    hint = side["hint"] if side["hint"] is not None else f"no hint: {side['reason']}"
    score = "" if side["judged"] is None else f", {side['right']} of {side['judged']} right"
    said = f"{name}: {side['outcome']}{score}, {side['refined']} repairs, {side['tokens']} tokens"
    return f"<section><small>{escape(said)}</small><pre>{escape(hint)}</pre></section>"
