"""Which optional parameters an endpoint is sent, learnt from what it refuses."""

import pytest

from consumers.chat.dialect import Dialect, first_dialect, overflows
from consumers.chat.settings import Asking

SCHEMA = {"type": "object"}
ASKING = Asking(base_url="http://x/v1", model="m", temperature=0.2, max_tokens=99)


def test_everything_is_sent_at_first() -> None:
    assert first_dialect("auto").options(ASKING, SCHEMA) == {
        "max_tokens": 99,
        "temperature": 0.2,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
        },
    }
    assert "response_format" not in first_dialect("auto").options(ASKING, None)


def test_what_is_set_is_sent() -> None:
    assert first_dialect("json_object").options(ASKING, SCHEMA)["response_format"] == {"type": "json_object"}
    assert "response_format" not in first_dialect("off").options(ASKING, SCHEMA)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "response_format is not supported"),
        (400, "bad request"),
        (404, "no endpoint supports json_schema"),
        (422, "extra inputs are not permitted: response_format"),
        (501, "structured outputs are not implemented"),
    ],
)
def test_a_refused_form_is_stepped_down_from(status: int, said: str) -> None:
    less = Dialect().after(status, said)
    assert less == Dialect(form="json_object")
    assert less.after(status, said) == Dialect(form="off")
    assert Dialect(form="off").after(status, said) is None


@pytest.mark.parametrize("status", [401, 403, 404, 408, 422, 429, 500, 501, 503])
def test_a_refusal_for_another_reason_changes_nothing(status: int) -> None:
    assert Dialect().after(status, "no such model, or no key") is None


def test_a_form_that_was_set_is_kept() -> None:
    assert first_dialect("json_schema").after(400, "response_format is not supported") is None


def test_models_that_think_know_the_limit_by_another_name_and_take_no_temperature() -> None:
    said = "unsupported parameter: 'max_tokens' is not supported with this model. use 'max_completion_tokens'"
    other = Dialect().after(400, said)
    assert other is not None
    assert other.options(ASKING, None) == {"max_completion_tokens": 99, "temperature": 0.2}
    third = other.after(400, "unsupported value: 'temperature' does not support 0.2 with this model.")
    assert third is not None
    assert third.options(ASKING, None) == {"max_completion_tokens": 99}


def test_asking_ends_however_often_an_endpoint_refuses() -> None:
    dialect: Dialect | None = Dialect()
    tried = 0
    while dialect is not None:
        tried += 1
        dialect = dialect.after(400, "max_tokens temperature response_format")
    assert tried == 5


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "this model's maximum context length is 16384 tokens. however, you requested 122946 tokens"),
        (400, "'max_tokens' is too large: 10000. this model's maximum context length is 8192 tokens"),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "{'code': 'context_length_exceeded'}"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (413, "payload"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_from_other_refusals(status: int, said: str) -> None:
    assert overflows(status, said)
    assert not overflows(400, "response_format is not supported")
    assert not overflows(500, said)
