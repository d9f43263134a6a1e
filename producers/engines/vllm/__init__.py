"""Sampling by vLLM over HTTP: one worker, one or many `vllm serve`, running already or started here.

engine.py is the way in. server.py keeps one endpoint on the wanted weights and asks it (update.py exchanges
them), api.py is what it says over HTTP, wire.py what a request and its reply are, fitness.py what a server
must be started with, pulse.py whether it moves; board.py is what they tell each other. child.py starts one,
on a leash (leash.py). plugin.py, transfer.py and receiving.py run inside vLLM, which loads weights with them;
vLLM itself is imported by the first two alone.
"""

from collections.abc import Iterable

from producers.engines.base import Demand, Engine
from producers.engines.vllm.config import Config, problems

__all__ = ["EXCLUSIVE", "Config", "build", "check", "is_sent"]

EXCLUSIVE = True
"""A server has one policy's weights: whoever samples with another needs servers of its own."""


def build(config: Config, demand: Demand) -> Engine:
    """An engine that finds or starts its servers when it runs."""
    from producers.engines.vllm.engine import VllmEngine

    return VllmEngine(config, demand)


def is_sent(config: Config) -> bool:
    """Whether the trainer sends the weights."""
    return config.weights != "snapshot"


def check(config: Config) -> Iterable[str]:
    """Problems that single settings do not show."""
    return problems(config)
