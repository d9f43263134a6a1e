"""What speaks against a guide's drafts: as which verdicts, and whether nearly all of them fail. No I/O."""

from collections import Counter, deque
from collections.abc import Sequence

from mentor_stream.metrics.limits import REFUSED
from schemas import AgentCall, Diagnosis, Outcome

VERDICTS = ("leak", "wrong", "irrelevant", "vague", "other")
RECENT = 20
"""Cases that a guide worked on, which are looked at together."""
FEWEST = 5
"""Before so many nothing is said."""


def refused(calls: Sequence[AgentCall]) -> Counter[str]:
    """Drafts of a case that were refused, by the verdict: Judgment's, or `leak` of the leak guard."""
    return Counter(_verdict(call) for call in calls if call.passed is False)


def _verdict(call: AgentCall) -> str:
    if call.agent == "leak_guard":
        return "leak"
    said = call.result.partition(":")[0]
    return said if said in VERDICTS else "other"


class Refusals:
    """Remembers the last cases of a mentor."""

    def __init__(self) -> None:
        self._recent: deque[Counter[str]] = deque(maxlen=RECENT)

    def hear(self, case: Diagnosis) -> str:
        """After one case more: that most of the last got no hint since drafts are refused, or nothing."""
        if case.outcome not in (Outcome.HINT, Outcome.FALLBACK, Outcome.SILENT):
            return ""
        against = Counter[str]() if case.outcome is Outcome.HINT else refused(case.calls)
        self._recent.append(against)
        failed = [one for one in self._recent if one]
        if not against or len(self._recent) < FEWEST or len(failed) <= REFUSED * len(self._recent):
            return ""
        ((verdict, _),) = sum(failed, Counter[str]()).most_common(1)
        return (
            f"{len(failed)} of the last {len(self._recent)} cases ended without a hint of the guide's, since "
            f"its drafts were refused, mostly as {verdict!r}: mentor-stream tail diagnoses CONFIG shows them"
        )
