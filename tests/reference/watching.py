"""What has been observed of every key, and what an event or a snapshot makes of it (chapters D, R7, I8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from .records import CARDS, INSTANCES, Adapter, Base, Content, Refused, read, shown

TOMBSTONE_SECONDS = 600.0


class Entry(Protocol):
    """An applied key: the shape of ``workerset.Apply``."""

    @property
    def path(self) -> str: ...
    @property
    def value(self) -> str | bytes | None: ...
    @property
    def revision(self) -> int: ...
    @property
    def created(self) -> int | None: ...
    @property
    def incarnation(self) -> str | None: ...


@dataclass(slots=True)
class Seen:
    """What is known of one key."""

    revision: int = 0
    present: bool = False
    content: Content | None = None
    """The last valid state."""
    token: str | None = None
    value: str | bytes | None = None
    """The last applied value, usable or not."""
    refused: bool = False
    told: set[str | bytes | None] = field(default_factory=set)
    """Unusable values that were reported."""
    gone_at: float | None = None

    def fork(self) -> Seen:
        """Return a copy."""
        return Seen(
            self.revision,
            self.present,
            self.content,
            self.token,
            self.value,
            self.refused,
            set(self.told),
            self.gone_at,
        )


class Listener(Protocol):
    """What the observations mean, in order."""

    def arrive(self, content: Content) -> None: ...
    def update(self, old: Content, new: Content) -> None: ...
    def depart(self, content: Content) -> None: ...
    def refuse_record(self, path: str) -> None: ...
    def refuse_change(self, old: Base, new: Base) -> None: ...


@dataclass
class Watching:
    """All observations."""

    admits: Callable[[str], bool]
    keys: dict[str, Seen] = field(default_factory=dict)
    covered: dict[str, int] = field(default_factory=dict)
    """Newest snapshot of each prefix."""
    revision: int = 0
    """Newest revision seen."""
    snapshot_at: float | None = None

    def fork(self) -> Watching:
        """Return a copy that shares nothing that changes."""
        keys = {path: seen.fork() for path, seen in self.keys.items()}
        return Watching(self.admits, keys, dict(self.covered), self.revision, self.snapshot_at)

    def is_ours(self, path: str) -> bool:
        """Foreign buckets and namespaces outside the filter are not looked at."""
        for bucket in (CARDS, INSTANCES):
            if path.startswith(bucket):
                return self.admits(path.removeprefix(bucket).split("/")[0])
        return False

    def newest(self, path: str) -> int:
        """The newest observation of a key, absence in a snapshot included (D2)."""
        snapshots = (as_of for prefix, as_of in self.covered.items() if path.startswith(prefix))
        seen = self.keys.get(path)
        return max(0 if seen is None else seen.revision, *snapshots, 0)

    def expire(self, now: float) -> None:
        """Forget old tombstones (D2)."""
        for path, seen in list(self.keys.items()):
            if seen.gone_at is not None and now >= seen.gone_at + TOMBSTONE_SECONDS:
                del self.keys[path]

    def apply(self, entry: Entry, listener: Listener) -> None:
        """One key was written or confirmed."""
        if not self.is_ours(entry.path) or self._is_stale(entry.path, entry.revision):
            return
        self._observe(entry.path, entry.revision)
        self._put(entry, listener)

    def delete(self, path: str, revision: int, now: float, listener: Listener) -> None:
        """One key is gone. Remembered, known or not."""
        if not self.is_ours(path) or self._is_stale(path, revision):
            return
        seen = self._observe(path, revision)
        self._remove(seen, listener)
        seen.gone_at = now

    def reset(self, entries: list[Entry], as_of: int, prefix: str, now: float, listener: Listener) -> bool:
        """A snapshot: departures, then updates, then arrivals (D2). Returns whether it was applied."""
        if any(prefix.startswith(wider) and as_of < newest for wider, newest in self.covered.items()):
            return False
        held = {path for path in self.keys if path.startswith(prefix) and self.newest(path) > as_of}
        listed = {e.path: e for e in entries if self.is_ours(e.path) and self.newest(e.path) <= as_of}
        for path in sorted(self.keys):
            seen = self.keys[path]
            if path in held or not seen.present or not path.startswith(prefix):
                continue
            if path not in listed:
                self._remove(seen, listener)
            elif _is_other_incarnation(seen, listed[path]):
                self._leave(seen, listener)
        known = [listed[path] for path in sorted(listed) if self._has_state(path)]
        new = [entry for entry in listed.values() if not self._has_state(entry.path)]
        new.sort(key=lambda entry: (entry.created is None, entry.created or 0, shown(entry.path)))
        for entry in [*known, *new]:
            self._observe(entry.path, entry.revision)
            self._put(entry, listener)
        self.revision = max(self.revision, as_of)
        self.covered[prefix] = max(as_of, self.covered.get(prefix, 0))
        self.snapshot_at = now
        for path, seen in list(self.keys.items()):
            if not seen.present and path.startswith(prefix) and seen.revision <= as_of:
                del self.keys[path]
        return True

    def contents(self) -> Iterator[Content]:
        """Every valid state."""
        return (seen.content for seen in self.keys.values() if seen.content is not None)

    def refused(self) -> list[str]:
        """Paths whose newest record is not usable."""
        return [path for path, seen in self.keys.items() if seen.refused]

    def _is_stale(self, path: str, revision: int) -> bool:
        return revision != 0 and revision < self.newest(path)

    def _observe(self, path: str, revision: int) -> Seen:
        seen = self.keys.setdefault(path, Seen())
        seen.revision = max(seen.revision, revision)
        self.revision = max(self.revision, revision)
        return seen

    def _has_state(self, path: str) -> bool:
        return path in self.keys and self.keys[path].content is not None

    def _put(self, entry: Entry, listener: Listener) -> None:
        seen = self.keys[entry.path]
        value = seen.value if entry.value is None else entry.value
        seen.present, seen.gone_at, seen.value = True, None, value
        if _is_other_incarnation(seen, entry):
            self._leave(seen, listener)
        content: Content | Refused = Refused() if value is None else read(entry.path, value)
        if isinstance(content, Refused):
            if value not in seen.told:
                listener.refuse_record(entry.path)
            self._refuse(seen, value)
            return
        old = seen.content
        if isinstance(old, Base) and isinstance(content, Base) and old.identity != content.identity:
            if value not in seen.told:
                listener.refuse_change(old, content)
            self._refuse(seen, value)
            return
        seen.content = content
        if entry.value is not None:
            seen.token = entry.incarnation or seen.token
        seen.refused = False
        seen.told.clear()
        if old is None:
            listener.arrive(content)
        else:
            listener.update(old, content)

    def _refuse(self, seen: Seen, value: str | bytes | None) -> None:
        seen.told.add(value)
        seen.refused = True

    def _leave(self, seen: Seen, listener: Listener) -> None:
        """The incarnation behind the key is gone; the key may not be."""
        if seen.content is not None:
            content, seen.content, seen.token = seen.content, None, None
            listener.depart(content)

    def _remove(self, seen: Seen, listener: Listener) -> None:
        self._leave(seen, listener)
        seen.present = seen.refused = False
        seen.value = None
        seen.told.clear()


def _is_other_incarnation(seen: Seen, entry: Entry) -> bool:
    """Clause I8, for endpoints too. A valid adapter record replaces its predecessor whatever its token (L3).

    An entry without a value says that nothing has changed, so its token says nothing: a decision of the product.
    """
    if entry.value is None or None in {seen.token, entry.incarnation} or seen.token == entry.incarnation:
        return False
    return not isinstance(seen.content, Adapter) or isinstance(read(entry.path, entry.value), Refused)
