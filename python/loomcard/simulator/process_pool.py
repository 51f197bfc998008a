"""Work spread over processes: begun in order, stopped cleanly, and never a process left behind.

``concurrent.futures`` and loky cannot do this: of a process that is lost they do not say which item
it had, nor with what status it ended, and they drop the results of the others; work that runs
cannot be told to stop and return what it has; and it says nothing before its end.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, Literal, TypeVar

STOP_S = 10.0
"""So long a process may take to return what it has, once it is told to stop, before it is ended."""
_END_S = 1.0

Item = TypeVar("Item")
Result = TypeVar("Result")
Message = tuple[Literal["news", "result", "raised"], Any]


class WorkerLostError(Exception):
    """A process is gone, ended from outside: ``position`` of what it did, its exit ``status``."""

    def __init__(self, position: int, status: int | None) -> None:
        self.position = position
        self.status = status
        super().__init__(position, status)


def run_in_processes(
    work: Callable[[Item, Callable[[Any], None]], Result],
    items: Sequence[Item],
    processes: int,
    note: Callable[[int, Result], None],
    on_message: Callable[[int, Any], None] = lambda *_: None,
) -> None:
    """``work(item, send)`` for each item, begun in their order, ``processes`` at a time; ``note``
    is given the position and result of each as it ends, ``on_message`` what it ``send``s meanwhile.

    Ctrl-C ends it early, as does whatever else is raised: work that runs gets a KeyboardInterrupt,
    what it returns for that in time is noted, and the error is raised again. Raises what ``work``
    raises, and WorkerLostError. ``work``, items and results cross to processes and back by pickle.
    """
    _Pool(work, items, note, on_message).run(processes)


class _Pool:
    """A process for each connection; those that are at work, with the position of their item."""

    def __init__(
        self,
        work: Callable[..., Any],
        items: Sequence[Any],
        note: Callable[[int, Any], None],
        on_message: Callable[[int, Any], None],
    ) -> None:
        self._work = work
        self._left = list(enumerate(items))[::-1]
        self._note = note
        self._on_message = on_message
        self._processes: dict[Connection, BaseProcess] = {}
        self._busy: dict[Connection, int] = {}

    def run(self, processes: int) -> None:
        """Work on all items in so many processes; on any error stop them all and raise it."""
        try:
            for _ in range(min(processes, len(self._left))):
                self._give(self._begin())
            while self._busy:
                for ready in wait(list(self._busy)):
                    assert isinstance(ready, Connection)
                    self._take(ready)
        except BaseException:
            with contextlib.suppress(KeyboardInterrupt):  # a second one: no more waiting
                self._stop()
            raise
        finally:
            self._end()

    def _begin(self) -> Connection:
        context = multiprocessing.get_context("spawn")  # no state of ours, on any system
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(self._work, theirs), daemon=True)
        with _sigint_ignored():  # Ctrl-C is the parent's to hear; it tells its children once
            process.start()
        theirs.close()
        self._processes[ours] = process
        return ours

    def _give(self, worker: Connection) -> None:
        if self._left:
            position, item = self._left.pop()
            self._busy[worker] = position
            worker.send(item)

    def _take(self, worker: Connection) -> None:
        position = self._busy[worker]
        try:
            kind, what = _received(worker)
        except (EOFError, OSError) as error:
            del self._busy[worker]
            self._processes[worker].join()
            raise WorkerLostError(position, self._processes[worker].exitcode) from error
        if kind == "news":
            self._on_message(position, what)
            return
        del self._busy[worker]
        if kind == "raised":
            raise what
        self._note(position, what)
        self._give(worker)

    def _stop(self) -> None:
        """Let those at work return what they have."""
        for worker in self._busy:
            self._processes[worker].terminate()
        until = time.monotonic() + STOP_S
        while self._busy:
            found = wait(list(self._busy), max(0.0, until - time.monotonic()))
            if not found:
                return
            for ready in found:
                assert isinstance(ready, Connection)
                try:
                    kind, what = _received(ready)
                except Exception:  # it had nothing, or was cut off in mid-sentence
                    del self._busy[ready]
                    continue
                if kind != "news":
                    position = self._busy.pop(ready)
                    if kind == "result":
                        self._note(position, what)

    def _end(self) -> None:
        """No process outlives the pool, whatever it is doing."""
        for worker in self._processes:
            worker.close()
        until = time.monotonic() + (0.0 if self._busy else _END_S)
        for process in self._processes.values():
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def _received(worker: Connection) -> Message:
    message: Message = worker.recv()
    return message


@contextlib.contextmanager
def _sigint_ignored() -> Iterator[None]:
    """A process that starts inside does not hear Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _WorkerPipe:
    """A worker's way to its parent. Told to stop, it raises KeyboardInterrupt once, but never in
    the midst of a message.
    """

    def __init__(self, out: Connection) -> None:
        self._out = out
        self._sending = False
        self._stopped = False
        signal.signal(signal.SIGTERM, self._stop)

    def send(self, kind: Literal["news", "result", "raised"], what: Any) -> None:
        self._sending = True
        self._out.send((kind, what))
        self._sending = False
        if self._stopped:
            self._stopped = False
            raise KeyboardInterrupt

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if not self._sending:
            raise KeyboardInterrupt
        self._stopped = True


def _serve(work: Callable[..., Any], parent: Connection) -> None:
    """In each process: one item after the other, as long as the parent is there."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        pipe = _WorkerPipe(parent)
        while True:
            item = parent.recv()
            try:
                result = work(item, lambda message: pipe.send("news", message))
            except Exception as error:
                pipe.send("raised", error)
            else:
                pipe.send("result", result)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
