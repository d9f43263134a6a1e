"""Texts that are no hint, whatever a judge says: refusals, error messages, web pages. No I/O."""

import re

_REFUSAL = re.compile(
    r"""
    \W*(?:
        (?:(?:i['\u2019]?m|i\ am)\ (?:(?:very|so|really|truly)\ )?)?sorry,?\ (?:but\ )?(?:i|we|as|that|this)\b
      | (?:(?:i['\u2019]?m|i\ am)\ (?:afraid|unable|not\ able|not\ allowed)\b)
      | (?:my\ )?apologies\b | i\ apologi[sz]e\b
      | (?:i|we)\ (?:can(?:['\u2019]?t|not|\ not)|won['\u2019]?t|must\ decline)
        (?:\ (?:help|assist|provide|comply|answer|do|give|share|create|fulfill|continue)\b|\W*$)
      | as\ an\ ai\b
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ERROR = re.compile(
    r"""
    ^\W*(?:[\w.]*(?:error|exception)|status|http)\b[\s:(]*(?:code[\s:]+)?[45]\d\d\W*$
    | ^\W*(?:error|status|http)\ (?:status\ )?code\b
    | traceback\ \(most\ recent\ call\ last\)
    | \brate[\ _-]?limit(?:ed)?\b.{0,60}\b(?:retry|try\ again|exceeded|reached|error)\b
    | \b(?:too\ many\ requests|internal\ server\ error|bad\ gateway|service\ unavailable|gateway\ time-?out)\b
    | ^\W*(?:[\w.]*error|exception|request|connection)\b.{0,40}
      \b(?:timed?[\ -]?out|refused|overloaded|api\ key|server)\b
    | \b(?:insufficient_quota|context_length_exceeded|invalid_request_error|invalid\ api\ key)\b
    | ^\W*\{?\s*["']error["']\s*:
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PAGE = re.compile(r"<\s*/?\s*(?:!doctype|html|head|body|title|script|meta|div)\b", re.IGNORECASE)
_KINDS = ((_REFUSAL.match, "a refusal"), (_ERROR.search, "an error message"), (_PAGE.search, "a web page"))


def no_hint(draft: str) -> str | None:
    """What a draft is instead of a hint, as an objection, or None."""
    kind = next((name for matches, name in _KINDS if matches(draft)), None)
    return f"the draft is {kind}, no hint" if kind else None
