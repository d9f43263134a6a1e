"""Which releases are evaluated, and when there are no more to come. Pure."""

from collections.abc import Iterable

from schemas import PolicyRelease


class Schedule:
    """Version 0, every k-th version and the final one; of several that wait, version 0, then the newest.

    An evaluator slower than the trainer leaves out what it cannot keep up with: its curve gets coarser,
    it never falls behind.
    """

    def __init__(self, every: int, evaluated: Iterable[int] = ()) -> None:
        self._every, self._evaluated = every, set(evaluated)
        self._waiting: dict[int, PolicyRelease] = {}
        self._last: PolicyRelease | None = None

    def note(self, release: PolicyRelease) -> None:
        """Take in a release, in the order of publication. Fresh counters of a version change nothing."""
        self._last, version = release, release.policy_version
        known = self._waiting.get(version)
        if version in self._evaluated or (known and known.digest == release.digest):
            return
        if release.final or version % self._every == 0:
            self._waiting.pop(version, None)
            self._waiting[version] = release

    def next(self) -> PolicyRelease | None:
        """The release to evaluate now, if any. Those it overtakes are forgotten."""
        if not self._waiting:
            return None
        if 0 in self._waiting:
            return self._waiting[0]
        newest = list(self._waiting.values())[-1]
        self._waiting = {newest.policy_version: newest}
        return newest

    def evaluated(self, release: PolicyRelease) -> None:
        """This one has its figure."""
        self._evaluated.add(release.policy_version)
        self.left_out(release)

    def left_out(self, release: PolicyRelease) -> None:
        """This one cannot be evaluated."""
        if self._waiting.get(release.policy_version) is release:
            del self._waiting[release.policy_version]

    def is_final(self, release: PolicyRelease) -> bool:
        """Whether the run ends with this version."""
        last = self._last
        return last is not None and last.final and last.policy_version == release.policy_version

    @property
    def over(self) -> bool:
        """Whether the run has ended and its final version has its figure."""
        last = self._last
        return last is not None and last.final and last.policy_version in self._evaluated
