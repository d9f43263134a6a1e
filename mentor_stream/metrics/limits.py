"""From where on a figure is trouble: shares that the alerts (deploy/grafana/) and the monitor judge by alike.

A test holds each against the alert in whose name it is.
"""

STARVED = 0.9
"""Of the trainer's time waiting for groups, and nothing to do: MentorStreamNoGroupArrives."""
IDLE = 0.5
"""The same, as a remark: MentorStreamTrainerIdle."""
ALL_COLLAPSE = 0.98
"""Of plain groups that collapse: MentorStreamAllCollapses."""
HINTS_HELP = 0.1
"""Of guided groups with a right answer, less is trouble: MentorStreamHintsDoNotHelp."""
UNSCORABLE = 0.05
"""Of trajectories without a verdict: MentorStreamJudgeInTrouble."""
TOO_LATE = 0.5
"""Of cases that came too late for a lesson: MentorStreamMentorIsBehind."""
FAILED_CALLS = 0.5
"""Failed calls of agents to a case: MentorStreamAgentCallsFail."""
REFUSED = 0.5
"""Of cases that end without the guide's hint since its drafts were refused, more is trouble: no alert's."""

OF_ALERTS = {
    "MentorStreamNoGroupArrives": STARVED,
    "MentorStreamTrainerIdle": IDLE,
    "MentorStreamAllCollapses": ALL_COLLAPSE,
    "MentorStreamHintsDoNotHelp": HINTS_HELP,
    "MentorStreamJudgeInTrouble": UNSCORABLE,
    "MentorStreamMentorIsBehind": TOO_LATE,
    "MentorStreamAgentCallsFail": FAILED_CALLS,
}
