"""The times at which policies want to be called again."""

from __future__ import annotations


class Timers(dict[int, int]):
    """By number of an instance, the time in ms at which to call it; at most one per instance.

    The session keeps one ``Timers`` for what its instances requested, and each engine keeps one for
    what is set there.
    """

    def put(self, instance: int, at_ms: int | None) -> None:
        """Set the timer of an instance; None removes it."""
        if at_ms is None:
            self.pop(instance, None)
        else:
            self[instance] = at_ms

    def take_over(self, wanted: dict[int, int | None]) -> dict[int, int | None]:
        """Set the timers that the called instances want. Return those that changed. Other instances
        keep their timers.
        """
        changed = {i: at_ms for i, at_ms in wanted.items() if at_ms != self.get(i)}
        for instance, at_ms in changed.items():
            self.put(instance, at_ms)
        return changed

    def ring(self, now_ms: int) -> list[int]:
        """Return the instances whose timers are due, by number, and remove these timers."""
        due = sorted(instance for instance, at_ms in self.items() if at_ms <= now_ms)
        for instance in due:
            del self[instance]
        return due
