"""Which of the snapshots that were released are still there: old ones are removed."""

from collections import defaultdict
from collections.abc import Iterable

from mentor_stream.snapshots.manifest import MANIFEST, StoreError
from mentor_stream.snapshots.store import PROBE_SECONDS, Store, deadline
from mentor_stream.snapshots.url import local, problems


def present(uris: Iterable[str], seconds: float = PROBE_SECONDS) -> set[str]:
    """Those that lie where they say, as a look at each place tells; nothing is read or verified.

    Raises StoreError for a store that does not answer within so many seconds.
    """
    found: set[str] = set()
    stored: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        path = local(uri)
        if path is None:
            stored[uri.rpartition("/")[0]].append(uri)
        elif (path / MANIFEST).is_file():
            found.add(uri)
    for home, there in stored.items():
        names = _names(home, seconds)
        found.update(uri for uri in there if uri.rpartition("/")[2] in names)
    return found


def _names(home: str, seconds: float) -> set[str]:
    if any(problems(home)):  # no release of ours says that
        return set()
    try:
        return {name for name, whole in Store(home, deadline(seconds)).contents().items() if whole}
    except ImportError as error:
        raise StoreError(f"snapshots in {home}: {error}") from error
