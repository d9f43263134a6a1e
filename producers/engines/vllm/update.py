"""Other weights into a server that is at work: what runs is kept, and goes on with them."""

import logging

import anyio

from producers.engines.vllm.api import Api, Down, Refused
from producers.engines.vllm.board import Weights
from producers.engines.vllm.plugin import INTACT

IN_BETWEEN = "loading"
"""The label while weights are exchanged: no token that carries it is ever taken."""

log = logging.getLogger(__name__)


class Unusable(Exception):
    """Weights that a server could not load. `intact` when it still has those it had."""

    def __init__(self, why: str, *, intact: bool) -> None:
        super().__init__(why)
        self.intact = intact


async def load(api: Api, weights: Weights, label: str | None, seconds: float) -> None:
    """Exchange the weights labelled `label` for others within so many seconds. Raises Unusable, Down.

    The order matters. Nothing is sampled from the pause on. The label is the new one only when all weights
    are; what dies in between leaves a label that nobody trusts. Caches of keys and values are of the old
    weights and go before sampling goes on: requests under way are read again with the new ones.
    """
    began = anyio.current_time()
    try:
        await api.pause()
        await api.set_label(IN_BETWEEN)
        try:
            await api.load(str(weights.path), weights.label, seconds)
        except Refused as refused:
            intact = INTACT in refused.said and label is not None
            if intact:
                await api.set_label(label or "")
                await api.resume()
            raise Unusable(refused.said, intact=intact) from refused
        await api.forget_prefixes()
        await api.resume()
    except Refused as refused:
        raise Down(f"{api.url} does not let its weights be changed: {refused}") from refused
    log.info("%s is on policy %d after %.2f s", api.url, weights.version, anyio.current_time() - began)
