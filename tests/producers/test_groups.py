from collections import deque

import schemas
from producers import groups
from producers.engines.base import Sample
from producers.groups import Asked
from producers.judging.verdicts import Score
from producers.tally import Tally
from schemas import FinishReason, Sampling, Verdict, VersionRun
from tests.builders import a_group, a_guided_query, a_query

SAMPLING = Sampling(temperature=0.7)


def asked(question: str = "What is 2 + 3?") -> Asked:
    return Asked(
        query=a_query(question), group_id=f"group of {question}", prompt_ids=[1, 5], bare_prompt_ids=None
    )


def a_sample(*tokens: int) -> Sample:
    run = VersionRun(policy_version=2, count=len(tokens))
    return Sample(
        completion_ids=list(tokens),
        logprobs=[-0.25] * len(tokens),
        policy=(run,),
        finish_reason=FinishReason.STOP,
    )


def test_a_group_records_what_was_sampled_and_judged() -> None:
    query = a_guided_query()
    guided = Asked(query=query, group_id="g", prompt_ids=[1, 9, 5], bare_prompt_ids=[1, 5])
    scores = [Score(Verdict.RIGHT, 1.0, "ok"), Score(Verdict.UNSCORABLE, None, "judge died")]
    group = groups.scored(
        guided, [a_sample(6, 2), a_sample(7)], ["2", "3"], scores, SAMPLING, worker="w", at=5.0
    )
    assert group.bare_prompt_ids is not None
    assert group.bare_prompt_ids.numpy().tolist() == [1, 5]
    first, second = group.trajectories
    assert first.prompt_ids.numpy().tolist() == [1, 9, 5]
    assert first.completion_ids.numpy().tolist() == [6, 2]
    assert first.logprobs.numpy().tolist() == [-0.25, -0.25]
    assert (first.text, first.reward, first.remark) == ("2", 1.0, "ok")
    assert (second.verdict, second.reward) == (Verdict.UNSCORABLE, None)
    assert group.oldest_version == 2


def test_a_refused_query_is_resolved_by_a_group_without_tokens_that_says_why() -> None:
    group = groups.refused(asked(), 4, "too long", SAMPLING, worker="w", at=5.0)
    assert schemas.decode(schemas.encode(group), schemas.Group) == group
    assert [t.verdict for t in group.trajectories] == [Verdict.ABORTED] * 4
    assert group.completion_tokens == 0
    assert group.trajectories[0].remark == "refused: too long"


def test_the_seed_depends_on_the_run_and_on_the_groups() -> None:
    batch = ["first", "second"]
    assert groups.seed(1, batch) == groups.seed(1, batch)
    assert len({groups.seed(1, batch), groups.seed(2, batch), groups.seed(1, batch[:1])}) == 3
    assert 0 <= groups.seed(1, batch) < 2**63


def test_the_tally_counts_groups_and_gives_the_tokens_of_the_last_minute() -> None:
    tally = Tally(_before=deque([(100.0, 0)]))
    for verdicts in ("WW", "RW", "UW"):
        tally.count(a_group(verdicts), collapsed=verdicts == "WW")
    refused = groups.refused(asked(), 2, "too long", SAMPLING, worker="w", at=5.0)
    tally.count(refused, collapsed=False)
    tokens = 3 * a_group("WW").completion_tokens
    assert tally.values(102.0) == {
        "tokens_per_second": tokens / 2, "tokens": tokens, "groups": 4, "collapsed": 1, "refused": 1,
        "in_flight": 0, "right": 1, "wrong": 4, "unscorable": 1, "aborted": 2,
    }  # fmt: skip
    assert tally.values(110.0)["tokens_per_second"] == tokens / 10, "groups come in bursts"
    assert tally.values(175.0)["tokens_per_second"] == 0
