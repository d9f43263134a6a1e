"""Numbers that only label something: the 2 of `step 2`, or of a list's second item. No I/O."""

import re

_LABELLED = re.compile(
    r"\b(?:steps?|attempts?|cases?|lines?|parts?|equations?|eqs?\.?|figures?|examples?|sections?|chapters?"
    r"|theorems?|lemmas?|responses?|trajectory|trajectories|hints?|methods?|points? (?:no\.?|number))"
    r"[ #]{1,2}\(?\*{0,2}(\d{1,2})(?![\d.,/^%]\d|\d)"
    r"(?:(?:,| and| or|, and)(?: (?:attempt|step|case|line|part))? \(?(\d{1,2})(?![\d.,/^%]\d|\d))?"
    r"(?:,? (?:and|or) \(?(\d{1,2})(?![\d.,/^%]\d|\d))?(?! ?[*=+^/-] ?\d)"
)
_ITEM = re.compile(
    r"(?:^[\s>*_#-]{0,8}(\d{1,2})[.)](?=[*\s])|(?<![\w$])\((\d{1,2})\)(?= [a-z]))", re.MULTILINE
)


def labels(text: str) -> set[int]:
    """Where the numbers start that label, in a text that spelling.plain has been over."""
    starts = {
        match.start(group)
        for match in _LABELLED.finditer(text)
        for group in range(1, 4)
        if match[group] is not None
    }
    expected = 1
    items: list[int] = []
    for match in _ITEM.finditer(text):
        group = 1 if match[1] else 2
        if int(match[group]) == expected:
            items.append(match.start(group))
            expected += 1
    return starts | set(items if len(items) > 1 else [])


def unlabelled(text: str) -> str:
    """The text with its labels blotted out, all else at its place."""
    marks = labels(text)
    pattern = re.compile(r"\d{1,2}")
    return pattern.sub(lambda match: "#" * len(match[0]) if match.start() in marks else match[0], text)
