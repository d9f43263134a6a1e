"""Other weights into a server that is at work: what runs is kept, and goes on with them."""

import itertools
import logging
import secrets
from collections.abc import Mapping

import anyio
import msgspec

from producers.engines.vllm.api import Api, Down, Refused
from producers.engines.vllm.board import Weights
from producers.engines.vllm.plugin import AGAIN, INTACT

IN_BETWEEN = "loading"
"""The label while weights are exchanged: no token that carries it is ever taken."""

log = logging.getLogger(__name__)


LOOKS = (0.05, 0.1, 0.2, 0.5)
"""Seconds between looks at whether a snapshot has been fetched; the last one from then on."""


class Unusable(Exception):
    """Weights that a server could not load. `intact` when it still has those it had; `again` when it is no
    fault of theirs."""

    def __init__(self, why: str, *, intact: bool, again: bool = False) -> None:
        super().__init__(why)
        self.intact, self.again = intact, again


class Gone(Unusable):
    """Weights that are not there any more, or are damaged."""


class Fetched(msgspec.Struct):
    """How far one of a server's processes is with fetching a snapshot."""

    there: bool
    failure: str | None = None
    gone: bool = False
    """Another try is no help."""


async def fetch(api: Api, source: Mapping[str, str], seconds: float) -> None:
    """Have the server's machines fetch a snapshot, or see that it can be sent to them, while it works.

    Raises Unusable, Gone, Down.
    """
    try:
        with anyio.fail_after(seconds):
            for looks in itertools.count():
                found = msgspec.convert(await api.fetch(source), type=list[Fetched])
                for one in found:
                    if one.failure is not None:
                        kind = Gone if one.gone else Unusable
                        raise kind(one.failure, intact=True, again=not one.gone)
                if all(one.there for one in found):
                    return
                await anyio.sleep(LOOKS[min(looks, len(LOOKS) - 1)])
    except TimeoutError:
        why = f"{api.url} did not fetch it within {seconds:g} s"
        raise Unusable(why, intact=True, again=True) from None
    except (Refused, msgspec.ValidationError) as error:
        raise Down(f"{api.url} cannot be told to fetch a snapshot: {error}") from error


def named(source: Mapping[str, str]) -> Mapping[str, str]:
    """What is sent gets a name, by which all of a server's processes know that one thing is meant."""
    return {**source, "id": secrets.token_hex(16)} if "sender" in source else source


async def load(api: Api, weights: Weights, label: str | None, seconds: float) -> None:
    """Exchange the weights labelled `label` for others within so many seconds. Raises Unusable, Down.

    The order matters. Nothing is sampled from the pause on. The label is the new one only when all weights
    are; what dies in between leaves a label that nobody trusts. Caches of keys and values are of the old
    weights and go before sampling goes on: requests under way are read again with the new ones.
    """
    began = anyio.current_time()
    if "path" not in weights.source:
        await fetch(api, named(weights.source), seconds)
    try:
        await api.pause()
        await api.set_label(IN_BETWEEN)
        try:
            await api.load(named(weights.source), weights.label, seconds)
        except Refused as refused:
            intact = INTACT in refused.said and label is not None
            if intact:
                await api.set_label(label or "")
                await api.resume()
            raise Unusable(refused.said, intact=intact, again=AGAIN in refused.said) from refused
        await api.forget_prefixes()
        await api.resume()
    except Refused as refused:
        raise Down(f"{api.url} does not let its weights be changed: {refused}") from refused
    log.info("%s is on policy %d after %.2f s", api.url, weights.version, anyio.current_time() - began)
