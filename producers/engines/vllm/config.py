"""What can be set of the engine."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from mentor_stream import keys
from mentor_stream.config import Section


class Config(Section):
    """Options of the engine kind `vllm`."""

    urls: tuple[str, ...] = ()
    """Of the `vllm serve` to ask, such as http://host:8000, each for this worker alone. None: one is started
    here and ends with the worker."""
    api_key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the key; left out for servers that want none."""
    weights: Literal["snapshot", "gloo", "nccl"] = "snapshot"
    """How new weights get into a server: it reads the snapshot, where that lies, or the trainer sends them,
    from `run.weights_from`, over gloo (any network) or over NCCL (GPU to GPU)."""
    max_in_flight: int | None = Field(None, ge=1)
    """Completions that one server has in hand; None takes twice its `--max-num-seqs`, so that a group's last
    completion keeps no place empty."""
    stall_seconds: float = Field(180.0, gt=0)
    """A server that has requests and makes no token for so long is taken for dead."""
    start_seconds: float = Field(900.0, gt=0)
    """For the first server to be ready, and for one to load new weights."""
    command: tuple[str, ...] = ("vllm", "serve")
    """What starts a server here, before the model and the flags that it must have."""
    args: tuple[str, ...] = ()
    """Further flags of the server started here, such as `--dtype=bfloat16`."""
    env: dict[str, str] = Field(default_factory=dict)
    """Further environment of it, such as `CUDA_VISIBLE_DEVICES`."""

    @field_validator("urls")
    @classmethod
    def _are_servers(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            if not re.fullmatch(r"https?://[!-~]+", url) or not _has_host(url):
                raise ValueError("expected http://host:port")
            if "@" in url or "?" in url or "#" in url:
                raise ValueError("a key, password or query does not belong in a URL: use api_key_env")
            if urlsplit(url).path.strip("/"):
                raise ValueError("expected http://host:port without a path: /v1 and the like are ours to add")
        if len({url.rstrip("/") for url in urls}) < len(urls):
            raise ValueError("the same server twice: name it once")
        return tuple(url.rstrip("/") for url in urls)


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def problems(config: Config) -> Iterable[str]:
    """What validation of single settings cannot see."""
    yield from keys.problems("rollout.engine.api_key_env", config.api_key_env)
    if config.urls and (config.args or config.env):
        yield (
            "rollout.engine.args and env are for a server that is started here, but rollout.engine.urls "
            "names some that run already. Start those with them."
        )
    if not config.urls:
        yield from _not_found(config.command)


def _not_found(command: tuple[str, ...]) -> Iterable[str]:
    if not command:
        yield "rollout.engine.command is empty: name what starts a server, such as ['vllm', 'serve']."
    elif shutil.which(command[0]) is None and not Path(command[0]).is_file():
        yield (
            f"rollout.engine.command is {list(command)}: there is no program {command[0]!r}. Install vLLM, "
            "give the path of its `vllm`, or name servers that run in rollout.engine.urls."
        )
