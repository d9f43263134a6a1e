"""Weights as the trainer sends them: runs inside vLLM's workers, on every rank. Knows no vLLM.

What is said and how the two ends meet is mentor_stream/weights/.
"""

import secrets
import socket
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from mentor_stream.snapshots import SnapshotError, StoreError
from mentor_stream.weights import address, messages
from mentor_stream.weights.group import Group
from mentor_stream.weights.messages import BUCKET_BYTES, DTYPES, Ask, Backend, Offer, Piece, Refusal

REACH_SECONDS = 10.0
"""For the sender to take a connection."""
LOOK_SECONDS = 300.0
"""For it to say what it has: it verifies a snapshot when it is asked for it first."""
TURN_SECONDS = 120.0
"""For it to begin, since it serves a few servers at a time: nothing is sampled meanwhile."""

Tensors = Iterator[tuple[str, torch.Tensor]]


class Interrupted(Exception):
    """The sender was lost before all weights were here."""


@dataclass(frozen=True)
class Sender:
    """The trainer's end, and which of its snapshots is wanted how."""

    where: str
    """`run.weights_from`."""
    digest: str
    backend: Backend


@dataclass(frozen=True)
class Place:
    """Of a process among those of its server."""

    rank: int = 0
    ranks: int = 1


class Line:
    """A connection to the sender, by which it is asked, and found to be gone."""

    def __init__(self, sender: Sender, seconds: float) -> None:
        """Answers are waited for so long. Raises StoreError when it cannot be reached."""
        try:
            place = address.split(sender.where)
            self._held = socket.create_connection(place, REACH_SECONDS)
            self.store: Any = dist.TCPStore(  # pyright: ignore[reportPrivateImportUsage]
                *place,
                is_master=False,
                wait_for_workers=False,
                timeout=timedelta(seconds=min(seconds, 3 * REACH_SECONDS)),
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise StoreError(
                f"{sender.where} (run.weights_from) cannot be reached: {_line(error)}"
            ) from error
        self.store.set_timeout(timedelta(seconds=seconds))

    def check(self) -> None:
        """Raises RuntimeError when the sender has died: nothing ever comes by the connection that is held."""
        try:
            if self._held.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK):
                return
        except BlockingIOError:
            return
        except OSError as error:
            raise RuntimeError(f"it is gone: {error}") from error
        raise RuntimeError("it is gone")

    def close(self) -> None:
        """Hang up."""
        self._held.close()


def look(sender: Sender, seconds: float = LOOK_SECONDS) -> Offer:
    """What would be sent. Raises SnapshotError when it never will be, StoreError when it may be later."""
    ask_id = secrets.token_hex(16)
    with closing(Line(sender, seconds)) as line:
        _ask(line.store, sender, ask_id, 0, seconds)
        return _answer(line.store, sender, ask_id, seconds)


class Arrival:
    """Weights that are about to come."""

    def __init__(
        self, line: Line, sender: Sender, offer: Offer, ask_id: str, place: Place, device: torch.device
    ) -> None:
        self.offer = offer
        self._line, self._sender, self._id, self._place = line, sender, ask_id, place
        self._device = device if sender.backend == "nccl" else torch.device("cpu")
        self._group: Group | None = None

    def begin(self) -> Tensors:
        """Meet the sender and have the first bytes; then each tensor with its name, as it comes.

        Raises StoreError when the sender is not met, and later Interrupted when it is lost.
        """
        try:
            self._group = Group(
                dist,
                self._line.store,
                ask_id=self._id,
                backend=self._sender.backend,
                rank=1 + self._place.rank,
                size=1 + self._place.ranks,
                other=address.split(self._sender.where)[0],
                check=self._line.check,
            )
            buckets = self._buckets(self._group)
            first = next(buckets, None)
        except (RuntimeError, OSError) as error:
            raise StoreError(f"{self._sender.where} sends nothing: {_line(error)}") from error
        return self._tensors(self._group, first, buckets)

    def close(self) -> None:
        """Part from the sender."""
        if self._group is not None:
            self._group.close()

    def _tensors(self, group: Group, first: torch.Tensor | None, buckets: Iterator[torch.Tensor]) -> Tensors:
        pieces = [piece for file in self.offer.files for piece in file.pieces]
        try:
            yield from assembled(pieces, first, buckets, self._device)
            group.agree(torch.zeros(1, device=self._device))
        except RuntimeError as error:
            raise Interrupted(f"{self._sender.where} was lost half-way: {_line(error)}") from error

    def _buckets(self, group: Group) -> Iterator[torch.Tensor]:
        """The bytes as they come, each bucket good until the next is asked for, which is on its way."""
        rooms = [torch.empty(BUCKET_BYTES, dtype=torch.uint8, device=self._device) for _ in range(2)]
        sizes = list(self.offer.buckets())
        parts = [rooms[number % 2][:size] for number, size in enumerate(sizes)]
        coming = [group.broadcast(part) for part in parts[:1]]
        for number, part in enumerate(parts):
            coming.pop()()
            coming = [group.broadcast(following) for following in parts[number + 1 : number + 2]]
            yield part


@contextmanager
def arriving(
    sender: Sender, ask_id: str, place: Place, device: torch.device, seconds: float = TURN_SECONDS
) -> Generator[Arrival]:
    """Ask for the weights, once for all ranks of a server, which share `ask_id`.

    Raises SnapshotError when they will never come, StoreError when they may later.
    """
    with closing(Line(sender, seconds)) as line:
        if place.rank == 0:
            _ask(line.store, sender, ask_id, place.ranks, seconds)
        offer = _answer(line.store, sender, ask_id, seconds)
        with closing(Arrival(line, sender, offer, ask_id, place, device)) as arrival:
            yield arrival


def assembled(
    pieces: list[Piece], first: torch.Tensor | None, buckets: Iterator[torch.Tensor], device: torch.device
) -> Tensors:
    """Tensors out of the bytes that they are, one behind the other."""
    bucket = torch.empty(0, dtype=torch.uint8) if first is None else first
    for piece in pieces:
        data = torch.empty(piece.size, dtype=torch.uint8, device=device)
        filled = 0
        while filled < len(data):
            if not len(bucket):
                bucket = next(buckets)
            part = bucket[: len(data) - filled]
            data[filled : filled + len(part)] = part
            filled, bucket = filled + len(part), bucket[len(part) :]
        yield piece.name, data.view(getattr(torch, DTYPES[piece.dtype][0])).reshape(piece.shape)


def _ask(store: Any, sender: Sender, ask_id: str, ranks: int, seconds: float) -> None:
    host, port = address.split(sender.where)
    ask = Ask(
        id=ask_id,
        digest=sender.digest,
        backend=sender.backend,
        ranks=ranks,
        address=address.own(host, port),
        seconds=seconds,
    )
    try:
        store.queue_push(messages.ASKS, messages.write(ask))
    except RuntimeError as error:
        raise StoreError(f"{sender.where} cannot be asked: {_line(error)}") from error


def _answer(store: Any, sender: Sender, ask_id: str, seconds: float) -> Offer:
    try:
        answer = messages.read_answer(store.get(messages.answer_key(ask_id)))
    except (RuntimeError, ValueError) as error:
        raise StoreError(f"{sender.where} gave no answer within {seconds:g} s: {_line(error)}") from error
    if isinstance(answer, Refusal):
        raise (SnapshotError if answer.gone else StoreError)(f"{sender.where}: {answer.why}")
    return answer


def _line(error: BaseException) -> str:
    """PyTorch adds where in its C++ it was."""
    return str(error).partition("\n")[0][:300]
