"""Section [supervisor], which every command reads: importing this loads no supervisor."""

from typing import ClassVar, Literal

from pydantic import Field

from mentor_stream.config import Section


class SupervisorConfig(Section):
    """Section [supervisor]."""

    table: ClassVar[str] = "supervisor"

    rollout_workers: int = Field(1, ge=1)
    """Rollout processes on this machine."""
    mentor_workers: int = Field(1, ge=1)
    """Mentor processes on this machine; one already holds many cases in flight."""
    restarts: int = Field(5, ge=0)
    """How often one component may be restarted within the window; one death more stops the run, unless it is
    a mentor's or the evaluator's: training goes on without them, and they are tried again."""
    restart_window_seconds: float = Field(300.0, gt=0)
    """Deaths longer ago than this are forgiven."""
    backoff_seconds: float = Field(1.0, ge=0)
    """Pause before the first restart; each further one within the window waits twice as long."""
    backoff_max_seconds: float = Field(30.0, ge=0)
    """Longest pause before a restart."""
    grace_seconds: float = Field(60.0, gt=0)
    """A component asked to stop has this long before it is killed. The trainer writes a checkpoint in it. As
    long does a new `up` wait for components that an earlier one left behind."""
    settle_seconds: float = Field(3.0, gt=0)
    """Once all questions are fed, the stream must rest this long before the trainer is told to finish."""
    final_evaluation_seconds: float = Field(900.0, ge=0)
    """How long the evaluation of the final policy may take before the results are written without it."""
    view: Literal["auto", "live", "plain", "none"] = "auto"
    """live: a dashboard; plain: a line now and then; auto: live on a terminal, else plain."""
    view_seconds: float = Field(10.0, gt=0)
    """Seconds between two plain lines."""
