"""One server: made sure of, kept on the wanted weights, asked, watched, and given up when it is silent."""

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from mentor_stream.config import ConfigError
from producers.engines.base import Demand
from producers.engines.vllm import fitness, update
from producers.engines.vllm.api import CALL_SECONDS, Api, Down, Refused
from producers.engines.vllm.board import Board, Weights
from producers.engines.vllm.config import Config
from producers.engines.vllm.pulse import Pulse

LOOK_SECONDS = 5.0
"""Between looks at what a server makes."""
REPEAT_SECONDS = 15.0
"""Between log lines about a server that is waited for."""
PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Before a server is tried again; the last one from then on."""
AGAIN_SECONDS = 15.0
"""Before it is told again to load what it could not load by no fault of that."""

log = logging.getLogger(__name__)


class Lost(Exception):
    """A request whose server was lost: to be asked again, here or elsewhere."""


class Failed(Exception):
    """A request that got no reply from a server that works."""


class Refusal(NamedTuple):
    """Weights that a server could not load."""

    label: str
    why: str
    until: float = math.inf
    """When it is told to again, on anyio's clock."""


class Server:
    """One `vllm serve` at work for us."""

    def __init__(
        self, api: Api, config: Config, demand: Demand, board: Board, end: Callable[[], None] | None = None
    ) -> None:
        """`end` ends the process, when it is one that is then started again."""
        self._end = end
        self.api, self._config, self._demand, self._board = api, config, demand, board
        self.sequences = self.capacity = 0
        """Completions that it samples at once, and that it may have in hand. Known once it was ready."""
        self.takes_seeds = False
        """Not on a CPU: vLLM 0.32 dies there when it reads a request with a seed in pieces, as it does with
        long prompts, and with many at once when weights changed."""
        self.in_flight = 0
        self.ready = False
        self.label: str | None = None
        """Of the weights that it surely serves."""
        self.refusal: Refusal | None = None
        self._trouble: str | None = None
        self._scopes: set[anyio.CancelScope] = set()

    @property
    def serves(self) -> bool:
        """Whether it is on the weights that are wanted."""
        wanted = self._board.wanted
        return self.ready and wanted is not None and self.label == wanted.label

    def has_room(self, samples: int) -> bool:
        """Whether it should be asked for so many completions more."""
        return self.serves and (not self.in_flight or self.in_flight + samples <= self.capacity)

    async def generate(self, body: Any, samples: int, longest: int) -> bytes:
        """The reply to a request. Raises Lost, Failed, and Refused when nobody could answer it."""
        self.in_flight += samples
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                return await self.api.generate(body, longest)
            except Down as down:
                if await self._works():
                    raise Failed(str(down)) from down
                self.lose(str(down))
                raise Lost(str(down)) from down
            finally:
                self.in_flight -= samples
                self._scopes.discard(scope)
                self._board.room.tell()
        raise Lost(self._trouble or "the server was lost")

    async def _works(self) -> bool:
        """One request that fails may be that request's bad luck."""
        try:
            await self.api.is_healthy()
        except (Down, Refused):
            return False
        return True

    def lose(self, why: str) -> None:
        """Take it out of use until it is seen to work: all that it was asked is asked again."""
        if self._trouble is None:
            log.warning("%s is lost, %d completions are sampled again: %s", self.api.url, self.in_flight, why)
        self._trouble, self.ready = why, False
        for scope in self._scopes:
            scope.cancel()
        self._board.orders.tell()

    async def keep(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Keep it at work until cancelled. Has started once it was ready for the first time.

        Raises ConfigError when it then is not what it must be; later that is logged, and it stays out of use.
        """
        tries = 0
        while True:
            try:
                await self._make_sure()
                task_status.started()
                tries = 0
                await self._attend()
            except ConfigError as error:
                if not self.sequences:
                    raise
                log.error("%s", error)  # noqa: TRY400 - the text is all there is to say
            except (Down, Refused) as down:
                self.lose(str(down))
            await anyio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    async def _make_sure(self) -> None:
        """Wait until it answers, and see what it is. Raises ConfigError, Down, Refused."""
        await self._answers()
        settings = await fitness.examine(self.api, self._demand, self._config.weights)
        if self.label != await self.api.label():
            self.label = None  # another process now, or somebody else's weights
        self.sequences = settings.scheduler_config.max_num_seqs
        self.capacity = self._config.max_in_flight or 2 * self.sequences
        self.takes_seeds = settings.device_config.device != "cpu"
        self._trouble, self.ready = None, True
        self._board.room.tell()

    async def _answers(self) -> None:
        began = said = anyio.current_time()
        while True:
            try:
                return await self.api.is_healthy()
            except (Down, Refused) as down:
                now = anyio.current_time()
                if now - said >= REPEAT_SECONDS:
                    log.warning("%s is not ready after %.0f s: %s", self.api.url, now - began, down)
                    said = now
            await anyio.sleep(PAUSES[0])

    async def _attend(self) -> None:
        """Load what is wanted, watch what it makes. Raises Down, Refused."""
        pulse, rest = Pulse(self._config.stall_seconds), min(LOOK_SECONDS, self._config.stall_seconds / 2)
        while True:
            wanted = self._board.wanted
            if self._trouble is not None:
                raise Down(self._trouble)
            if wanted and self.label != wanted.label and not self._refuses(wanted):
                await self._load(wanted)
                continue
            with anyio.move_on_after(rest):
                await self._board.orders.wait()
                continue
            await self._look(pulse)

    def _refuses(self, weights: Weights) -> bool:
        refusal = self.refusal
        return refusal is not None and refusal.label == weights.label and anyio.current_time() < refusal.until

    async def fetch(self, source: Mapping[str, str]) -> None:
        """Have its machines fetch a snapshot, while it works. Raises Unusable, Down."""
        await update.fetch(self.api, update.named(source), self._config.start_seconds)

    async def _load(self, weights: Weights) -> None:
        label, self.label = self.label, None
        try:
            await update.load(self.api, weights, label, self._config.start_seconds)
        except update.Unusable as error:
            until = anyio.current_time() + AGAIN_SECONDS if error.again else math.inf
            self.refusal = Refusal(weights.label, str(error), until)
            self.label = label if error.intact else None
            if not error.intact:
                raise Down(f"{self.api.url} was left without weights: {error}") from error
        else:
            self.label = weights.label
        finally:
            self._board.room.tell()

    async def _look(self, pulse: Pulse) -> None:
        """See whether it lives. Raises Down when it stands still over what we asked."""
        now, patience = anyio.current_time(), min(CALL_SECONDS, self._config.stall_seconds)
        try:
            pulse.note(now, await self.api.progress(patience), busy=self.in_flight > 0)
        except Down:
            pulse.note(now, None, busy=True)
        if still := pulse.stalled(anyio.current_time()):
            if self._end:
                self._end()
            raise Down(f"{self.api.url} made no token for {still:.0f} s (rollout.engine.stall_seconds)")
