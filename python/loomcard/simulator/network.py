"""Links of shared bandwidth: what is copied at the same time makes each copy slower.

The model: a flow goes over its source's link out, its target's link in and, between racks, over a
link of each rack. A link's bandwidth is divided equally among its flows, and a flow is as fast as
its smallest part. What it does not use of its other parts is not given to other flows. Copying
within one node takes no time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf

from loomcard.masters.clock import Clock

LEAST_MB = 1e-9
"""An amount as small as this counts as nothing: rounding may leave it of a flow."""
NEVER_MS = 2**62


class Link:
    """One direction of a link, in MB per ms."""

    __slots__ = ("bandwidth", "flows")

    def __init__(self, bandwidth: float) -> None:
        self.bandwidth = bandwidth
        self.flows: dict[Flow, None] = {}


class Flow:
    """One copy that is under way."""

    __slots__ = ("done", "due_ms", "ends_ms", "left_mb", "links", "rate", "since_ms")

    def __init__(self, links: list[Link], mb: float, done: Callable[[], None], now_ms: int) -> None:
        self.links = links
        self.left_mb = mb
        self.done = done
        self.rate = 0.0  # MB per ms
        self.since_ms = now_ms
        self.ends_ms = now_ms  # at this rate
        self.due_ms = NEVER_MS  # of its scheduled event, not after its end; later ones are void


class Network:
    """All links of a cluster, in MB/s; ``rack_mb_s`` 0: the racks' links are never full."""

    def __init__(
        self, clock: Clock, rack_of: Callable[[str], str], node_mb_s: float, rack_mb_s: float = 0.0
    ) -> None:
        self._clock = clock
        self._rack_of = rack_of
        self._node_mb_ms, self._rack_mb_ms = node_mb_s / 1000, rack_mb_s / 1000
        self._links: dict[tuple[str, str], Link] = {}

    def start(self, source: str, target: str, mb: float, done: Callable[[], None]) -> Flow:
        """Copy ``mb`` from host to host; ``done`` is called at the end, never at once."""
        links = [] if source == target else self._path(source, target)
        flow = Flow(links, mb, done, self._clock.now)
        if not links or mb <= LEAST_MB:
            flow.links = []
            self._due(flow)
            return flow
        for link in links:
            link.flows[flow] = None
        self._share(links)
        return flow

    def cancel(self, flow: Flow) -> None:
        """Stop a copy."""
        flow.due_ms = NEVER_MS
        self._leave(flow)

    def _path(self, source: str, target: str) -> list[Link]:
        near, far = self._rack_of(source), self._rack_of(target)
        links = [self._link("out", source, self._node_mb_ms)]
        if near != far and self._rack_mb_ms:
            links.append(self._link("up", near, self._rack_mb_ms))
            links.append(self._link("down", far, self._rack_mb_ms))
        links.append(self._link("in", target, self._node_mb_ms))
        return links

    def _link(self, way: str, name: str, bandwidth: float) -> Link:
        key = (way, name)
        if key not in self._links:
            self._links[key] = Link(bandwidth)
        return self._links[key]

    def _leave(self, flow: Flow) -> None:
        links, flow.links = flow.links, []
        for link in links:
            del link.flows[flow]
        self._share(links)

    def _share(self, links: list[Link]) -> None:
        """Divide these links again among their flows."""
        now = self._clock.now
        flows: dict[Flow, None] = {}
        for link in links:
            flows.update(link.flows)
        for flow in flows:
            rate = inf
            for link in flow.links:
                rate = min(rate, link.bandwidth / len(link.flows))
            if rate == flow.rate:
                continue
            flow.left_mb = max(0.0, flow.left_mb - flow.rate * (now - flow.since_ms))
            flow.rate, flow.since_ms = rate, now
            flow.ends_ms = now + ceil(round(flow.left_mb / rate, 6))
            if flow.ends_ms < flow.due_ms:
                self._due(flow)

    def _due(self, flow: Flow) -> None:
        flow.due_ms = flow.ends_ms
        self._clock.at(flow.due_ms, self._look, flow, flow.due_ms)

    def _look(self, flow: Flow, due_ms: int) -> None:
        """End the flow, or look again when it ends by now: most are slowed down again and again."""
        if flow.due_ms != due_ms:
            return
        if flow.ends_ms > due_ms:
            self._due(flow)
            return
        flow.due_ms = NEVER_MS
        self._leave(flow)
        flow.done()
