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

from mentor_stream import disk, snapshots
from mentor_stream.config import ConfigError
from mentor_stream.snapshots import SnapshotError
from trainer.intake.batches import Ledger
from trainer.intake.marks import Mark
from trainer.intake.preparation import Bookmark

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
    bad_batches: int = 0
    """The last batches in a row of which no step could be taken."""


class Loaded(msgspec.Struct, frozen=True):
    """A checkpoint that was found whole. Its weights are still on disk, in `shards`."""

    state: State
    consumed_ids: bytes
    shards: Path

    @property
    def bookmark(self) -> Bookmark:
        """Where to go on in the stream."""
        return Bookmark(self.state.ledger, self.state.marks, self.consumed_ids)


def read(path: Path) -> Loaded:
    """The checkpoint in a directory. Raises SnapshotError, OSError or ValueError where it is not whole."""
    snapshots.verify(path, snapshots.file_digest(path / snapshots.MANIFEST))
    state = msgspec.json.decode((path / _STATE).read_bytes(), type=State)
    return Loaded(state, (path / _IDS).read_bytes(), path / _SHARDS)


class Checkpoints:
    """The checkpoints of one run, all of which go back to one policy.

    To make it takes a while: the run's first policy is read whole (snapshots.identity), and so is the
    reference policy where it is another one.
    """

    def __init__(self, directory: Path, policy: Path, keep: int, reference: Path | None = None) -> None:
        self.directory, self.policy, self.keep = directory, policy, keep
        self.identity = snapshots.identity(policy)
        self.reference = None
        if reference is not None:
            same = reference.resolve() == policy.resolve()
            self.reference = self.identity if same else snapshots.identity(reference)

    def write(
        self,
        version: int,
        step: int,
        bookmark: Bookmark,
        save_shards: Callable[[Path], None],
        bad_batches: int = 0,
    ) -> None:
        """Write a version's checkpoint and remove old ones. `save_shards` fills a directory, on all ranks."""
        state = State(
            version=version,
            step=step,
            policy=self.identity,
            ledger=bookmark.ledger,
            reference=self.reference,
            marks=bookmark.marks,
            bad_batches=bad_batches,
        )

        def fill(draft: Path) -> None:
            shards = draft / _SHARDS
            shards.mkdir()
            save_shards(shards)
            (draft / _STATE).write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=1))
            (draft / _IDS).write_bytes(bookmark.consumed_ids)

        snapshots.write(self.directory, version, fill)
        snapshots.prune(self.directory, self.keep)

    def newest(self) -> Loaded | None:
        """The newest one that is whole; a damaged one is reported and put aside.

        Raises SnapshotError when the disk does not read it, and ConfigError when it began with another
        policy, or was held to another reference. (To begin or to end being held to one is no other.)
        """
        found = _newest_whole(self.directory)
        if found:
            self._check_policy(found.state)
            self._check_reference(found.state)
        return found

    def _check_policy(self, state: State) -> None:
        if state.policy == self.identity:
            return
        if state.policy != _shape(self.policy):
            raise ConfigError(
                f"run.policy is {str(self.policy)!r}: the checkpoint of version {state.version} in "
                f"{self.directory} started from another policy. Set it back, or set another run.directory"
            )
        log.warning(
            "the checkpoint of version %d is of a time when policies were known by the names and sizes of "
            "their files: that run.policy has the same weights still is taken on trust, this once",
            state.version,
        )

    def _check_reference(self, state: State) -> None:
        if None not in (state.reference, self.reference) and state.reference != self.reference:
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


def _is_the_disks(error: BaseException) -> bool:
    """Whether a disk that did not read is behind it, which says nothing of what is there."""
    if isinstance(error, OSError):
        return not isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError)
    return error.__cause__ is not None and _is_the_disks(error.__cause__)


def _newest_whole(directory: Path) -> Loaded | None:
    damaged = False
    for path in reversed(snapshots.versions(directory)):
        try:
            return read(path)
        except (SnapshotError, OSError, ValueError) as error:
            if _is_the_disks(error):
                raise SnapshotError(
                    f"checkpoint {path} cannot be read now, so nobody knows whether it is whole: {error}. "
                    "Mend the disk, or move the checkpoint away to go on from the one before"
                ) from error
            aside = path.with_name(f"damaged-{path.name}-{random.randrange(2**32):08x}")  # noqa: S311
            log.warning(
                "checkpoint %s is damaged (%s) and kept as %s; using the one before", path, error, aside
            )
            with disk.writing("run.directory", directory):
                path.rename(aside)
            damaged = True
    if damaged:
        log.error("no checkpoint in %s is whole: training starts anew from run.policy", directory)
    return None
