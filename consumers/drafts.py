"""Texts that are no hint, whatever a judge says: refusals, errors, thinking, talk about the hint. No I/O."""

import json
import re

from consumers.repetition import repeats
from consumers.scripts import main_script, script_of_words

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
    ^\W*(?:(?:\w[\w.]*)?(?:error|exception)|status|http)\b[\s:(]*(?:code[\s:]+)?[45]\d\d\W*$
    | ^\W*(?:error|status|http)\ (?:status\ )?code\b
    | traceback\ \(most\ recent\ call\ last\)
    | \brate[\ _-]?limit(?:ed)?\b.{0,60}\b(?:retry|try\ again|exceeded|reached|error)\b
    | \b(?:too\ many\ requests|internal\ server\ error|bad\ gateway|service\ unavailable|gateway\ time-?out)\b
    | ^\W*(?:(?:\w[\w.]*)?error|exception|request|connection)\b.{0,40}
      \b(?:timed?[\ -]?out|refused|overloaded|api\ key|server)\b
    | \b(?:insufficient_quota|context_length_exceeded|invalid_request_error|invalid\ api\ key)\b
    | ^\W*["']error["']\s*:
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PAGE = re.compile(r"<\s{0,9}/?\s{0,9}(?:!doctype|html|head|body|title|script|meta|div)\b", re.IGNORECASE)
_THINKING = re.compile(
    r"""
    </?\s*(?:think|thinking|thoughts?|reasoning|scratchpad|analysis|reflection)\s*>
    | <\|(?:channel|im_start|im_end|endoftext|eot_id|(?:start|end)_header_id|(?:begin|end)_of_thought)\|?>
    | ^\W*(?:okay|ok|alright|hmm)\b[,.!\s]{1,4}(?:so\b[,\s]{1,3})?
      (?:let\ me|the\ user|i\ (?:need|have|should)|we\ need)\b
    | ^\W*(?:the\ user\ (?:wants|asks|is\ asking)
      | (?:i|we)\ (?:need|have)\ to\ (?:write|craft|give|produce|provide|generate|output)\ (?:a|an|the|one)\b)
    | \b(?:i|we)\ (?:should|must|need\ to|cannot)\ (?:not\ )?(?:reveal|give\ away|leak|disclose)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PROMPT = re.compile(
    r"""
    </?(?:attempt(?:-\d{1,3})?|question|reference|solution|critique|hints?|draft|earlier-hints?)
      (?:\s[0-9a-f]{4,32})?\s*/?>
    | \[/?INST\] | <</?SYS>>
    | ^[ \t]*\#{2,4}[ \t]*(?:instruction|response|system|assistant|user)\b[ \t]*:?[ \t]*$
    | ^[ \t]*(?:system|assistant|human)[ \t]*:\s
    | \bsystem\ prompt\b | \b(?:my|your|these)\ instructions\ (?:say|said|state|require|forbid|tell)\b
    | \b(?:between|inside|within|outside)\ (?:the|these|those)\ fences?\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_TALK = re.compile(
    r"""
    \b(?:this|the|my|above|following)\ (?:(?:revised|repaired|improved|new|final)\ )?(?:hint|draft|guidance)
      \ (?:now\ )?(?:
        pass(?:es)?|satisfies|meets|complies
        | (?:does\ not|doesn['\u2019]?t)\ (?:reveal|leak|contain|disclose|state|give)
        | avoids\ (?:revealing|giving|leaking|stating)
        | (?:is|has\ been)\ (?:now\ )?(?:approved|acceptable|validated|compliant|revised|repaired)
      )\b
    | \b(?:without|not)\ (?:revealing|leaking|disclosing|giving\ away)
      \ the\ (?:(?:final|correct)\ )?(?:answer|solution)\b
    | \b(?:here\ is|here['\u2019]?s|below\ is)\ (?:the|a|my|your)
      \ (?:revised|repaired|improved|updated|corrected|new)\ (?:hint|draft|version)\b
    | ^\W*(?:verdict|judge?ment|status|decision)\W{1,4}(?:pass(?:ed)?|approved?|accept(?:ed)?|ok)\b
    | ^\W*(?:approved|pass(?:ed)?|lgtm|no\ leaks?)\W*$
    | \bpasses\ (?:all|every)\ (?:\w+\ )?(?:checks?|criteria)\b
    | \b(?:dear|note\ to\ the)\ (?:judge|examiner|evaluator|grader|reviewer)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDS_OPEN = re.compile(
    r"(?:[,(\[{=]|[^\W\d_]{2,}-|\s(?:the|an|and|or|because|your|whose|than|into))\Z", re.IGNORECASE
)
UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\U000e0000-\U000e007f]")
"""What no text has: control characters but for tabs and ends of lines, and letters that only machines see."""
_KINDS = (
    (_REFUSAL.match, "a refusal"),
    (_ERROR.search, "an error message"),
    (_PAGE.search, "a web page"),
    (_THINKING.search, "thinking aloud"),
    (_PROMPT.search, "a piece of a prompt"),
    (_TALK.search, "talk about the hint"),
    (UNSEEN.search, "control characters"),
)


def no_hint(draft: str, question: str = "") -> str | None:
    """What a draft is instead of a hint to the question, as an objection, or None."""
    draft = draft.strip()
    if not draft:
        return "the hint is empty"
    kind = next((name for matches, name in _KINDS if matches(draft)), None)
    if kind is None and _is_json(draft):
        kind = "JSON"
    if kind:
        return f"the draft is {kind}, no hint"
    if phrase := repeats(draft):
        return f"the draft repeats itself: {phrase[:80]}"
    if _is_cut(draft):
        return "the draft is cut off before its end"
    asked, said = main_script(question) or script_of_words(question), main_script(draft)
    if asked and said and asked != said:
        return (
            f"the draft is in another language: its script is {said.lower()}, the question's {asked.lower()}"
        )
    return None


def _is_json(draft: str) -> bool:
    """Whether a draft is a JSON object or a list of them, in a fence or not, where a text was asked for."""
    text = re.sub(r"\A```\w*\n|\n```\Z", "", draft).strip()
    if not text.startswith(("{", "[{")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return bool(re.match(r"\[?\{\s*\"\w+\"\s*:", text))
    return True


def _is_cut(draft: str) -> bool:
    """Whether a draft ends where no text does: in an open block of code, on a comma, behind "the"."""
    fences = re.findall(r"^[ \t]*(?:```|~~~)", draft, re.MULTILINE)
    return (
        len(fences) % 2 == 1
        or bool(_ENDS_OPEN.search(draft[-60:]))
        or draft.count("\\(") > draft.count("\\)")
    )
