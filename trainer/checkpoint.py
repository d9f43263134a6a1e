"""Checkpoints: model, optimizer and the place in the stream, whole or not at all.

A checkpoint is a snapshot directory (digests, sync, one rename) that holds megatron's distributed
checkpoint, the ledger of arrivals and the consumed ids. What it says of the stream is the truth on
resume: nothing else remembers what was trained on.
"""

import logging
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec

from mentor_stream import snapshots
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError
from trainer.intake.batches import Ledger
from trainer.intake.marks import Mark

log = logging.getLogger(__name__)

_SHARDS, _STATE, _IDS = "model", "state.json", "consumed_ids.bin"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint holds beside weights and ids."""

    version: int
    """Batches trained."""
    step: int
    """Optimizer steps taken."""
    policy: str
    """Identity of run.policy, where training started."""
    ledger: Ledger
    reference: str | None = None
    """Identity of the reference policy, of a run that has one."""
    marks: tuple[Mark, ...] = ()
    """Identity of the data: what was read last from each partition."""


class Loaded(msgspec.Struct, frozen=True):
    """A checkpoint that was found whole. Its weights are still on disk, in `shards`."""

    state: State
    consumed_ids: bytes
    shards: Path


class Checkpoints:
    """The checkpoints of one run, all of which go back to one policy."""

    def __init__(self, directory: Path, policy: Path, keep: int, reference: str | None = None) -> None:
        self.directory, self.policy, self.keep, self.reference = directory, policy, keep, reference
        self.identity = snapshots.identity(policy)

    def write(
        self,
        version: int,
        step: int,
        ledger: Ledger,
        marks: tuple[Mark, ...],
        consumed_ids: bytes,
        save_shards: Callable[[Path], None],
    ) -> None:
        """Write a version's checkpoint and remove old ones. `save_shards` fills a directory, on all ranks."""
        state = State(
            version=version,
            step=step,
            policy=self.identity,
            ledger=ledger,
            reference=self.reference,
            marks=marks,
        )

        def fill(draft: Path) -> None:
            shards = draft / _SHARDS
            shards.mkdir()
            save_shards(shards)
            (draft / _STATE).write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=1))
            (draft / _IDS).write_bytes(consumed_ids)

        snapshots.write(self.directory, version, fill)
        snapshots.prune(self.directory, self.keep)

    def newest(self) -> Loaded | None:
        """The newest one that is whole; a damaged one is reported and put aside.

        Raises ConfigError when it began with another policy, or was held to another reference. (To begin or
        to end being held to one is no other.)
        """
        found = _newest_whole(self.directory)
        if found and found.state.policy not in (self.identity, _shape(self.policy)):
            raise ConfigError(
                f"run.policy is {str(self.policy)!r}: the checkpoint of version {found.state.version} in "
                f"{self.directory} started from another policy. Set it back, or set another run.directory"
            )
        if found and None not in (found.state.reference, self.reference):
            self._check_reference(found.state)
        return found

    def _check_reference(self, state: State) -> None:
        if state.reference != self.reference:
            raise ConfigError(
                f"trainer.reference: the checkpoint of version {state.version} in {self.directory} was held "
                "to another reference policy. Set it back, or set another run.directory"
            )


def _shape(policy: Path) -> str:
    """What checkpoints held before: a digest of a policy's config, and its weights' names and sizes."""
    digest = sha256((policy / "config.json").read_bytes())
    for weights in sorted(policy.glob("*.safetensors")):
        digest.update(f"{weights.name} {weights.stat().st_size}\n".encode())
    return digest.hexdigest()


def _newest_whole(directory: Path) -> Loaded | None:
    damaged = False
    for path in reversed(snapshots.versions(directory)):
        try:
            snapshots.verify(path, snapshots.file_digest(path / snapshots.MANIFEST))
            state = msgspec.json.decode((path / _STATE).read_bytes(), type=State)
            return Loaded(state, (path / _IDS).read_bytes(), path / _SHARDS)
        except (SnapshotError, OSError, ValueError) as error:
            aside = path.with_name(f"damaged-{path.name}-{random.randrange(2**32):08x}")  # noqa: S311
            log.warning(
                "checkpoint %s is damaged (%s) and kept as %s; using the one before", path, error, aside
            )
            path.rename(aside)
            damaged = True
    if damaged:
        log.error("no checkpoint in %s is whole: training starts anew from run.policy", directory)
    return None
