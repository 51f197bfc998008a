"""How a reduce copies map output over a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loomcard.masters.host import Network


class Copying:
    """The copying of one reduce: the output of finished maps on each host, from at most ``copies``
    hosts at a time.
    """

    def __init__(self, network: Network, host: str, copies: int, done: Callable[[], None]) -> None:
        self._network = network
        self._host = host
        self._copies = copies
        self._done = done
        self._waiting: dict[str, float] = {}
        self._flows: dict[str, Any] = {}
        self._begun = False
        self._open = True  # more output may be added

    def begin(self) -> None:
        """Begin to copy: the reduce runs now."""
        self._begun = True
        self._go_on()

    def add(self, host: str, mb: float) -> None:
        """Add ``mb`` that are ready on a host."""
        self._waiting[host] = self._waiting.get(host, 0.0) + mb
        self._go_on()

    def close(self) -> None:
        """Note that no more output will be added."""
        self._open = False
        self._go_on()

    def cancel(self) -> None:
        """Stop copying: the reduce has ended."""
        self._begun = False
        self._waiting.clear()
        flows, self._flows = self._flows, {}
        for flow in flows.values():
            self._network.cancel(flow)

    def _go_on(self) -> None:
        if not self._begun:
            return
        for host in [host for host in self._waiting if host not in self._flows]:
            if len(self._flows) >= self._copies:
                return
            mb = self._waiting.pop(host)
            ended = self._ended_of(host)
            self._flows[host] = self._network.start(host, self._host, mb, ended)
        if not self._open and not self._flows:
            self._begun = False  # ``done`` is called once
            self._done()

    def _ended_of(self, host: str) -> Callable[[], None]:
        def ended() -> None:
            del self._flows[host]
            self._go_on()

        return ended
