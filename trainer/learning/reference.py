"""The reference policy: a second model, loaded once and never moved, that the KL is taken to."""

from hashlib import sha256
from pathlib import Path

import msgspec

from mentor_stream import snapshots
from trainer.config import TrainerConfig
from trainer.hf import conversion
from trainer.learning.scorer import Scorer
from trainer.model import architecture, gpt


def directory(config: TrainerConfig, policy: Path) -> Path | None:
    """Where the reference policy is: trainer.reference, else the run's first policy; None without any KL."""
    return (config.reference or policy) if config.kl_coef > 0 else None


def load(config: TrainerConfig, policy: Path) -> Scorer | None:
    """The reference on this rank, in the trainer's precision and shared like the policy; None without any KL.

    It may have another shape than the policy, and the same vocabulary.
    """
    place = directory(config, policy)
    if place is None:
        return None
    shape = architecture.read(place)
    network = gpt.frozen(shape, config)
    conversion.load(place, shape, network)
    return Scorer(config, shape, network)


def identity(config: TrainerConfig, policy: Path) -> str | None:
    """A digest of the reference's config and weights, for a checkpoint to hold; None without any KL.

    Of a snapshot the manifest is believed; else every byte is read, a second or so for each GB: ask once.
    """
    place = directory(config, policy)
    if place is None:
        return None
    digest, sealed = sha256(), _sealed(place)
    for path in [place / "config.json", *sorted(place.glob("*.safetensors"))]:
        of_file = sealed.get(path.name) or snapshots.file_digest(path)
        digest.update(f"{path.name} {of_file}\n".encode())
    return digest.hexdigest()


def _sealed(place: Path) -> dict[str, str]:
    """Digests of a snapshot's files, as its manifest has them; without those that were written after it."""
    manifest = place / snapshots.MANIFEST
    try:
        files = msgspec.json.decode(manifest.read_bytes(), type=snapshots.Manifest).files
        since = manifest.stat().st_mtime_ns
        return {name: known for name, known in files.items() if (place / name).stat().st_mtime_ns <= since}
    except (OSError, ValueError):  # no snapshot, or a damaged one
        return {}
