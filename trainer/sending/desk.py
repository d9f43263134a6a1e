"""Asks of servers, heard and answered: looks at once, a few shipments side by side, others in their turn."""

import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Semaphore
from typing import Any

import torch
import torch.distributed as dist

from mentor_stream.snapshots import SnapshotError
from mentor_stream.weights import messages
from mentor_stream.weights.messages import Ask, Garbled, Refusal
from trainer.sending import shipment
from trainer.sending.files import Opened, Shelf

SHIPMENTS, LOOKS = 8, 4
"""Side by side."""
WAITING = 256
"""Asks that wait for their turn; more are left unheard."""
KEPT_SECONDS = 60.0
"""For what was said about an ask, once it is done with."""
HEAR = timedelta(days=1)

log = logging.getLogger(__name__)


class Desk:
    """Serves until the process ends. `connect` gives a client of the store: each thread has its own."""

    def __init__(self, connect: Callable[[timedelta], Any], directory: Path) -> None:
        self._connect, self._shelf = connect, Shelf(directory)
        self._lookers = ThreadPoolExecutor(LOOKS, "look")
        self._senders = ThreadPoolExecutor(SHIPMENTS, "ship")
        self._room = Semaphore(WAITING)
        self._done = deque[tuple[float, str]]()

    def serve(self) -> None:
        """Hear asks, for ever."""
        store = self._connect(HEAR)
        while True:
            try:
                data: bytes = store.queue_pop(messages.ASKS)
            except dist.DistStoreError:  # nobody asked for so long
                continue
            self._tidy(store)
            try:
                ask = messages.read_ask(data)
            except Garbled as error:
                log.warning("a stranger at run.weights_from: %s", error)
                continue
            self._take(ask, time.monotonic() + ask.seconds)

    def _take(self, ask: Ask, until: float) -> None:
        if not self._room.acquire(blocking=False):
            log.warning("%d servers wait for weights: %s is not heard", WAITING, ask.address)
            return
        (self._senders if ask.ranks else self._lookers).submit(self._work_off, ask, until)

    def _work_off(self, ask: Ask, until: float) -> None:
        """Answer, and send if that is asked for. Whatever fails is said here: it is one server's trouble."""
        try:
            if time.monotonic() < until:  # or nobody waits for it any more
                store = self._connect(timedelta(seconds=ask.seconds))
                if opened := self._answer(ask, store):
                    self._send(opened, ask, store)
        except Exception as error:  # of any library here
            log.warning("%s got no weights: %s", ask.address, str(error).partition("\n")[0])
        finally:
            self._done.append((time.monotonic(), ask.id))
            self._room.release()

    def _answer(self, ask: Ask, store: Any) -> Opened | None:
        """Say what there is; returns it when it is to be sent."""
        opened = self._found(ask)
        said = opened if isinstance(opened, Refusal) else opened.offer
        store.set(messages.answer_key(ask.id), messages.write(said))
        return opened if isinstance(opened, Opened) and ask.ranks else None

    def _found(self, ask: Ask) -> Opened | Refusal:
        if ask.protocol != messages.PROTOCOL:
            return Refusal("the trainer is of another version of Mentor Stream", gone=True)
        if ask.backend == "nccl" and not torch.cuda.is_available():
            return Refusal("the trainer's machine has no GPU for NCCL: set weights to 'gloo'", gone=True)
        try:
            return self._shelf.open(ask.digest)
        except SnapshotError as error:
            return Refusal(str(error), gone=True)
        except Exception as error:
            return Refusal(f"the trainer cannot read it: {error}")

    def _send(self, opened: Opened, ask: Ask, store: Any) -> None:
        began = time.monotonic()
        shipment.send(opened, ask, store)
        seconds, size = time.monotonic() - began, opened.offer.size / 1e6
        log.info("snapshot %s: %.0f MB sent to %s in %.2f s", ask.digest[:12], size, ask.address, seconds)

    def _tidy(self, store: Any) -> None:
        """Forget what the store knows of asks that were done with a while ago."""
        while self._done and self._done[0][0] < time.monotonic() - KEPT_SECONDS:
            _, ask_id = self._done.popleft()
            for key in store.list_keys():
                if key.startswith(f"{ask_id}/"):
                    store.delete_key(key)
