"""What a config says of endpoints."""

import pytest
from pydantic import ValidationError

from consumers.chat import Endpoint, override
from mentor_stream.config import ConfigError

COMMON = Endpoint(
    base_url="http://x/v1",
    model="m",
    api_key_env="KEY",
    input_price=1.0,
    max_in_flight=8,
    temperature=0.3,
    tokens_per_run=9,
    standby=[{"base_url": "http://y/v1"}],
)


def test_a_table_replaces_what_it_names() -> None:
    own = override(COMMON, {"temperature": 0.0, "max_tokens": 100}, "a")
    assert (own.temperature, own.max_tokens) == (0.0, 100)
    kept = (own.base_url, own.model, own.api_key_env, own.input_price, own.max_in_flight)
    assert kept == ("http://x/v1", "m", "KEY", 1.0, 8)
    assert own.standby == COMMON.standby


def test_a_key_goes_to_no_other_endpoint_and_prices_to_no_other_model() -> None:
    elsewhere = override(COMMON, {"base_url": "http://z/v1"}, "a")
    assert (elsewhere.api_key_env, elsewhere.input_price, elsewhere.standby) == (None, 0.0, ())
    assert elsewhere.max_in_flight == 512
    assert (elsewhere.model, elsewhere.temperature) == ("m", 0.3)
    other = override(COMMON, {"model": "n"}, "a")
    assert (other.api_key_env, other.input_price, other.standby) == ("KEY", 0.0, COMMON.standby)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"temprature": 0.1}, "a.temprature: no such setting. Did you mean temperature?"),
        ({"tokens_per_run": 5}, "a.tokens_per_run: no such setting"),
        ({"max_tokens": 0}, "a.max_tokens is 0"),
        ({"base_url": "z"}, "a.base_url is 'z'"),
        ({"structured": "yes"}, "a.structured is 'yes'"),
        ({"context_tokens": 2048}, "leaves no room for a prompt"),
        ({"max_in_flight": 5000}, "a.max_in_flight is 5000"),
        ({"standby": [{"model": "n"}]}, "a.standby.0.base_url is missing"),
    ],
)
def test_a_table_that_cannot_work_is_named(table: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        override(COMMON, table, "a")
    assert said in str(error.value)


def test_keys_of_standbys_are_looked_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    endpoint = Endpoint(
        base_url="http://x/v1", model="m", standby=[{"base_url": "http://y/v1", "api_key_env": "NO_KEY"}]
    )
    assert list(endpoint.problems("s")) == [
        "s.standby.0.api_key_env is 'NO_KEY': this environment variable is not set."
    ]


@pytest.mark.parametrize(
    "url",
    [
        "http://a b/v1",
        "http://[::1/v1",
        "http://a:99999/v1",
        "http://a:x/v1",
        "http://a/v1?key=s",
        "http://a/\nv1",
    ],
)
def test_a_url_that_the_client_would_refuse_or_that_carries_a_key_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match=r"expected http://host:port/v1|does not belong in the URL"):
        Endpoint(base_url=url, model="m")


@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "sk-\u00fc"])
def test_a_key_that_no_header_can_hold_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("KEY", key)
    (problem,) = COMMON.problems("s")
    assert problem.startswith("s.api_key_env is 'KEY': this environment variable holds a space, ")
    assert "sk" not in problem
