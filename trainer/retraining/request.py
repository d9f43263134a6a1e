"""What is asked for, as it is handed to every rank."""

from pathlib import Path

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A retraining."""

    url: str
    """The broker that the recorded run is on."""
    run: str
    config: Path
    """The TOML file whose [run] and [trainer] say how to train."""
    folder: Path
    """Where everything goes that is written."""
    batches: Path | None
    """The journal of the recorded run; None cuts batches anew."""
    checkpoint: Path | None
    """Where it begins; None: with run.policy."""
    until: int | None
    """The version after which it ends, if that comes before the end of the recording."""
    as_json: bool


def encode(request: Request) -> str:
    """As an argument of a command."""
    return msgspec.json.encode(request, enc_hook=str).decode()


def decode(text: str) -> Request:
    """The same again."""
    return msgspec.json.decode(text, type=Request, dec_hook=lambda kind, value: kind(value))
