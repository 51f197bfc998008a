"""Run a policy's code in a child process first: code that ends its process ends only the child."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

from loomcard.api.registry import PolicyNotFoundError, built_in, find
from loomcard.engine.far_end import FarEnd
from loomcard.engine.round import PolicyTree

REMEDY: Final = "take out what ends it, such as os._exit(), or the library that crashes"
FIRST_ROUND_S = 10.0
"""How many s a first round may take, as on a cluster (``loomcard.round.hard-deadline-ms``)."""

_DONE: Final = "done"

Notify = Callable[[int], None]


class ChildEndedError(Exception):
    """A child did not finish its work. ``how``: how it ended, ``with status 3``, ``by signal
    SIGSEGV``; None: it did not end in time. ``last_number``: the last number that it sent, if any.
    """

    def __init__(self, how: str | None, last_number: int | None) -> None:
        self.how = how
        self.last_number = last_number
        super().__init__(how, last_number)


def run_isolated(work: Callable[[Notify], object], within_s: float | None = None) -> list[int]:
    """Run ``work(notify)`` in a forked child, which prints nothing. Return the numbers that it
    notified. What it returns or raises is lost; call it again in this process if you need that.
    ``within_s``: how many seconds it may take; None: no limit. Raises ChildEndedError.
    """
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(work, writer))
    with reader:
        with warnings.catch_warnings():  # of threads, from Python 3.12 on: the child starts none
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        writer.close()
        late = True  # or Ctrl-C came
        try:
            numbers, done, late = _received(reader, within_s)
        finally:
            if late or done:
                child.kill()
            child.join()
    if not done:
        last_number = numbers[-1] if numbers else None
        raise ChildEndedError(None if late else _how(child.exitcode or 0), last_number)
    return numbers


def _work(work: Callable[[Notify], object], writer: Connection) -> None:
    """Do the child's work; it never returns."""
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        with contextlib.suppress(BaseException):  # it raises again in the parent, if called there
            work(writer.send)
        writer.send(_DONE)
    finally:
        os._exit(0)


def _received(reader: Connection, within_s: float | None) -> tuple[list[int], bool, bool]:
    """The numbers that the child sends, whether it did all its work, and whether it is late."""
    numbers: list[int] = []
    until = None if within_s is None else time.monotonic() + within_s
    while reader.poll(None if until is None else max(0.0, until - time.monotonic())):
        try:
            received = reader.recv()
        except EOFError:
            return numbers, False, False
        if received == _DONE:
            return numbers, True, False
        numbers.append(received)
    return numbers, False, True


def _how(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    known = {each.value: each.name for each in signal.Signals}
    return f"by signal {known.get(-status, -status)}"


def find_isolated(name: str) -> type:
    """Do as ``find``, but a policy's file that ends its process does not end this one. Raises
    PolicyNotFoundError.
    """
    if name not in built_in():
        try:
            run_isolated(lambda _: find(name))
        except ChildEndedError as failed:
            raise PolicyNotFoundError(ended_while_loaded(name, failed), REMEDY) from failed
    return find(name)


def ended_while_loaded(name: str, failed: ChildEndedError) -> str:
    """The message about a policy whose module or class ends the process that loads it."""
    return (
        f"the policy {name!r} ended the process that loaded it, {failed.how};"
        " expected that it leaves its process running"
    )


class FirstRoundFailure(NamedTuple):
    """The failure of a first round; ``queue``: the number of the queue whose policy decided."""

    queue: int
    what: str
    remedy: str


def first_round(
    config: Mapping[str, Any], search: Sequence[Path] | None
) -> FirstRoundFailure | None:
    """What ends the process in the first round of a compiled configuration, or does not finish that
    round; None if nothing does. The cluster is empty, as in ``PUT ?dry_run``. An exception of a
    policy does not count.
    """
    try:
        run_isolated(lambda notify: _decide(config, search, notify), FIRST_ROUND_S)
    except ChildEndedError as failed:
        if failed.last_number is None:  # before any policy decided: it is the fault of none
            return None
        if failed.how is None:
            what = f"did not finish its first round within {FIRST_ROUND_S:g} s"
            return FirstRoundFailure(
                failed.last_number, what, "see that decide returns on an empty cluster"
            )
        return FirstRoundFailure(
            failed.last_number, f"ended its process in its first round, {failed.how}", REMEDY
        )
    return None


def _decide(config: Mapping[str, Any], search: Sequence[Path] | None, notify: Notify) -> None:
    far_end = FarEnd("check", resource_types(config), config, {})
    mirror = far_end.session.mirror
    mirror.apply(far_end.batch(0))
    tree = PolicyTree(mirror, search)
    for number, instance in tree.instances.items():
        instance.policy = _Announcing(instance.policy, number, notify)
    tree.run()


def resource_types(config: Mapping[str, Any]) -> list[str]:
    """Memory, vcores, and what else the configuration names."""
    types = ["memory_mb", "vcores"]
    return types + sorted(set(_resources(config)) - set(types))


def _resources(config: Mapping[str, Any]) -> Iterator[str]:
    for queue in config["queues"]:
        for key in ("guaranteed", "maximum"):
            yield from queue[key].get("amounts", ())
        yield from queue.get("maximum_allocation", ())


class _Announcing:
    """A policy that sends its queue's number before it decides."""

    def __init__(self, policy: Any, number: int, notify: Notify) -> None:
        self._policy = policy
        self._number = number
        self._notify = notify

    def __getattr__(self, name: str) -> Any:
        if name in ("decide", "initial"):
            self._notify(self._number)
        return getattr(self._policy, name)
