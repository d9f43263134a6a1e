"""CASF, collapse-aware sample filtering: which groups go to the mentor."""

from collections.abc import Sequence

from schemas import Verdict


def collapsed(verdicts: Sequence[Verdict]) -> bool:
    """Whether a group taught nothing: every trajectory was judged, and judged wrong.

    An unscorable or aborted trajectory says nothing about the policy, so a group holding one is never
    collapsed (a broken verifier must not look like a hard question). MENTOR (arXiv 2610.13594), section 3.1.
    """
    return bool(verdicts) and all(verdict is Verdict.WRONG for verdict in verdicts)
