"""When policies asked to be called again."""

from __future__ import annotations


class Timers(dict[int, int]):
    """By number of an instance, the time in ms at which it is to be called; one for each at most.

    The session keeps one, for what its instances asked for, and so does each engine, for what is
    set there.
    """

    def put(self, instance: int, at_ms: int | None) -> None:
        """Set the timer of an instance; None takes it away."""
        if at_ms is None:
            self.pop(instance, None)
        else:
            self[instance] = at_ms

    def take_over(self, wanted: dict[int, int | None]) -> dict[int, int | None]:
        """Set what the instances that were called ask for; what of it is another time than before.
        The others keep their timers.
        """
        changed = {i: at_ms for i, at_ms in wanted.items() if at_ms != self.get(i)}
        for instance, at_ms in changed.items():
            self.put(instance, at_ms)
        return changed

    def ring(self, now_ms: int) -> list[int]:
        """The instances whose time has come, by number; their timers are set no more."""
        due = sorted(instance for instance, at_ms in self.items() if at_ms <= now_ms)
        for instance in due:
            del self[instance]
        return due
