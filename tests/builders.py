"""Small records for tests: `a_group(verdicts="WWRW")` and the like."""

from collections.abc import Sequence

import schemas
from schemas import FinishReason, Hint, Origin, Sampling, Trajectory, Verdict, VersionRun

_VERDICTS = {
    "R": Verdict.RIGHT,
    "W": Verdict.WRONG,
    "U": Verdict.UNSCORABLE,
    "A": Verdict.ABORTED,
}


def a_query(question: str = "What is 2 + 3?", reference: str = "5", *, position: int = 0) -> schemas.Query:
    """A plain query."""
    return schemas.Query(
        query_id=schemas.query_id("dataset", position),
        origin=Origin.PLAIN,
        position=position,
        attempt=0,
        question=question,
        reference=reference,
    )


def a_guided_query(query: schemas.Query | None = None, hint: str = "Count on your fingers.") -> schemas.Query:
    """The lesson made of a plain query's collapsed group."""
    plain = query or a_query()
    source = schemas.group_id("test", plain.query_id, plain.attempt)
    return schemas.Query(
        query_id=schemas.guided_query_id(source, "scripted", 1),
        origin=Origin.GUIDED,
        position=plain.position,
        attempt=1,
        question=plain.question,
        reference=plain.reference,
        hint=Hint(
            hint_id=schemas.hint_id("scripted", hint), text=hint, guide="scripted", round=1, group_id=source
        ),
    )


def a_trajectory(
    verdict: str = "W",
    *,
    version: int = 0,
    prompt: Sequence[int] = (1, 5, 6),
    completion: Sequence[int] = (7, 8, 2),
    logprob: float = -0.5,
    text: str = "4",
    remark: str = "",
) -> Trajectory:
    """One scored completion; `verdict` is R, W, U or A."""
    judged = _VERDICTS[verdict]
    scored = {"R": 1.0, "W": 0.0}
    return Trajectory(
        prompt_ids=schemas.ids(prompt),
        completion_ids=schemas.ids(completion),
        logprobs=schemas.floats([logprob] * len(completion)),
        policy=(VersionRun(policy_version=version, count=len(completion)),) if completion else (),
        text=text,
        reward=scored.get(verdict),
        verdict=judged,
        finish_reason=FinishReason.ABORT if verdict == "A" else FinishReason.STOP,
        remark=remark,
    )


def a_group(
    verdicts: str = "WWWR", *, query: schemas.Query | None = None, version: int = 0, run: str = "test"
) -> schemas.Group:
    """A group with one trajectory per letter."""
    asked = query or a_query()
    return schemas.Group(
        group_id=schemas.group_id(run, asked.query_id, asked.attempt),
        query=asked,
        trajectories=tuple(a_trajectory(letter, version=version) for letter in verdicts),
        sampling=Sampling(temperature=1.0),
        bare_prompt_ids=schemas.ids([1, 6]) if asked.hint else None,
        worker="test",
        sampled_at=1.0,
    )


def some_groups(count: int) -> list[schemas.Group]:
    """Groups of as many questions."""
    return [a_group(query=a_query(f"{n}?", position=n)) for n in range(count)]


def a_record_of_each_kind() -> dict[str, schemas.Record]:
    """One record per schema, every field set, always the same."""
    guided = a_guided_query()
    group = a_group("RWUA", query=guided, version=3)
    call = schemas.AgentCall(
        agent="judgment",
        draft=0,
        refinement=1,
        result="fine",
        passed=True,
        model="m",
        prompt_tokens=10,
        completion_tokens=2,
        seconds=0.5,
    )
    return {
        "query": guided,
        "group": group,
        "diagnosis": schemas.Diagnosis(
            group_id=group.group_id,
            query_id=guided.query_id,
            guide="scripted",
            round=1,
            outcome=schemas.Outcome.HINT,
            reason="passed",
            hint=guided.hint,
            guided_query_id=guided.query_id,
            calls=(call,),
            prompt_tokens=10,
            completion_tokens=2,
            cost=0.25,
            seconds=0.5,
            policy_version=3,
        ),
        "policy_release": schemas.PolicyRelease(
            policy_version=3,
            step=3,
            uri="runs/x/snapshots/v00000003",
            digest="ab" * 32,
            consumed=schemas.Consumed(
                resolved=9, accepted=8, collapsed=5, guided=4, rescued=3, stale=1, tokens=99
            ),
            final=True,
            published_at=2.0,
        ),
        "metric": schemas.Metric(
            component="trainer", instance="host:1", time=3.0, policy_version=3, values={"loss": 0.25}
        ),
        "dead_letter": schemas.DeadLetter(
            source="rollout",
            topic="x.queries",
            partition=1,
            offset=7,
            error="TruncatedRecord",
            key=b"k",
            value=b"\xff",
            whole=False,
            time=4.0,
        ),
    }
