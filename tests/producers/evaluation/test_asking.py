"""Many questions to one examiner, stopped anywhere and gone on with."""

from pathlib import Path

import pytest

from mentor_stream.prompts import PromptConfig
from producers.engines.transformers import Config, build
from producers.evaluation.asking import Manner, Question, ask
from producers.evaluation.results import Asked
from producers.examiner import Examiner
from producers.tokenizer import PolicyTokenizer
from schemas import Sampling
from tests.builders import a_query
from tests.producers.scripted import ScriptedJudge

MANNER = Manner(samples=3, sampling=Sampling(temperature=1.0), max_new_tokens=5, batch=4, seed=7)


class Stop(Exception):
    pass


@pytest.mark.anyio
@pytest.mark.parametrize("after", [1, 3, 4, 6])
async def test_stopped_anywhere_it_goes_on_to_what_it_would_have_found_without_a_stop(
    tiny_policy: Path, after: int
):
    engine = build(Config(num_threads=1))
    await engine.load(tiny_policy, 0)
    tokenizer = PolicyTokenizer(tiny_policy, PromptConfig())
    examiner = Examiner(engine, ScriptedJudge(), tokenizer)  # type: ignore[arg-type]
    queries = [a_query(f"What is {number} + 1 ?", position=number) for number in range(9)]
    questions = [Question(query, tokenizer.prompt(query.question)) for query in queries]
    whole: dict[str, Asked] = {}
    await ask(examiner, questions, (), MANNER, lambda asked: whole.setdefault(asked.question_id, asked))
    assert len({asked.answers[0].text for asked in whole.values()}) > 1

    kept: list[Asked] = []

    def until(asked: Asked) -> None:
        kept.append(asked)
        if len(kept) == after:
            raise Stop

    with pytest.RaisesGroup(Stop, flatten_subgroups=True):
        await ask(examiner, questions, (), MANNER, until)
    known = {asked.question_id for asked in kept}
    await ask(examiner, questions, known, MANNER, kept.append)
    assert len(kept) == 9
    assert {asked.question_id: asked for asked in kept} == whole
