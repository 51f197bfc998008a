"""Work spread over processes of this machine: ``concurrent.futures``, with progress and Ctrl-C.

Each process has its own executor. So, when a process is lost, its work and its exit status are
known, and the results of the other processes are kept.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_connections
from types import FrameType, ModuleType
from typing import Any, TypeVar

STOP_S = 10.0
"""How long a process that was asked to stop may take to return its result before it is killed."""
_END_S = 1.0
_PROGRESS_S = 0.1
_starting = threading.Lock()
"""Locked while this process's main module is replaced."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkerLostError(Exception):
    """A process was ended from outside: ``position`` of its item, its exit ``status``."""

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
    """Call ``work(item, send)`` for each item, begun in their order, ``processes`` at a time.
    ``note`` is called with the position and result of each item that ends, ``on_message`` with what
    its work ``send``s.

    Ctrl-C and any other error end it early: running work gets a KeyboardInterrupt, a result that it
    then returns in time is noted, and the error is raised again. Raises what ``work`` raises, and
    WorkerLostError. ``work``, items and results are pickled; none of their classes and functions
    may be defined in ``__main__``, which is not loaded in the processes.
    """
    left = list(enumerate(items))[::-1]
    workers = [_Worker() for _ in range(min(processes, len(left)))]
    busy: dict[Future[Any], tuple[_Worker, int]] = {}

    def give(worker: _Worker) -> None:
        if left:
            position, item = left.pop()
            busy[worker.submit(work, item)] = (worker, position)

    try:
        for worker in workers:
            give(worker)
        while busy:
            done, _ = wait(busy, _PROGRESS_S, FIRST_COMPLETED)
            for worker, position in busy.values():
                worker.pass_on(position, on_message)
            for future in done:
                worker, position = busy.pop(future)
                note(position, worker.result(future, position))
                give(worker)
    except BaseException:
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C ends the waiting
            _stop(busy, note)
        raise
    finally:
        at_work = {id(worker) for future, (worker, _) in busy.items() if not future.done()}
        for worker in workers:
            worker.end(0.0 if id(worker) in at_work else _END_S)


def _stop(busy: dict[Future[Any], tuple[_Worker, int]], note: Callable[[int, Any], None]) -> None:
    """Let the busy workers return what they have."""
    for worker, _ in busy.values():
        worker.process.terminate()
    for future in wait(busy, STOP_S).done:
        if future.exception() is None:  # otherwise it had nothing, or ended at its start
            note(busy[future][1], future.result())


class _Worker:
    """A process, which starts with its first item, and the pipe of its messages to this one."""

    process: multiprocessing.process.BaseProcess

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # copies none of our state, on any system
        self._messages, self._theirs = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(1, context, _begin, (self._theirs,))

    def submit(self, work: Callable[..., Any], item: Any) -> Future[Any]:
        # The parent handles Ctrl-C, and signals its children once.
        with _sigint_blocked(), _without_main():
            before = set(multiprocessing.active_children())
            future = self._executor.submit(_run, work, item)
            for process in set(multiprocessing.active_children()) - before:
                self.process = process
                self._theirs.close()
        return future

    def pass_on(self, position: int, on_message: Callable[[int, Any], None]) -> None:
        """Call ``on_message`` with what the work has sent so far."""
        with contextlib.suppress(EOFError, OSError):  # the process has ended; its future says so
            while self._messages.poll():
                on_message(position, self._messages.recv())

    def result(self, future: Future[Any], position: int) -> Any:
        """Return the work's result, or raise its error. Raises WorkerLostError."""
        try:
            return future.result()
        except BrokenProcessPool as error:
            self._executor.shutdown()
            raise WorkerLostError(position, self.process.exitcode) from error

    def end(self, within_s: float) -> None:
        """End the process, whatever it is doing: no process outlives the run."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        if hasattr(self, "process"):
            if not wait_for_connections([self.process.sentinel], within_s):
                self.process.kill()
            self.process.join()
        self._messages.close()


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Block Ctrl-C for a process that starts inside; this process receives it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep a process that starts inside from running the caller's script again. Multiprocessing
    runs it to find what is pickled by name in ``__main__``; without that, scripts need no guard.
    """
    with _starting:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")  # it has no file, so nothing is run
        try:
            yield
        finally:
            sys.modules["__main__"] = main


class _Work:
    """What a process is doing. Work that is asked to stop gets a KeyboardInterrupt once, but never
    within a message. The executor is never disturbed between two pieces of work.
    """

    def __init__(self, out: Connection) -> None:
        self._out = out
        self._interruptible = False
        self._stopped = False
        signal.signal(signal.SIGTERM, self._stop)

    def run(self, work: Callable[..., Any], item: Any) -> Any:
        try:
            self._allow_interrupt()
            return work(item, self._send)
        finally:
            self._interruptible = False

    def _send(self, message: Any) -> None:
        self._interruptible = False
        self._out.send(message)
        self._allow_interrupt()

    def _allow_interrupt(self) -> None:
        self._interruptible = True
        if self._stopped:
            self._stopped = False
            raise KeyboardInterrupt

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self._interruptible:
            raise KeyboardInterrupt
        self._stopped = True


_work: _Work
"""The work of a worker process; set when it begins."""


def _begin(out: Connection) -> None:
    global _work
    _work = _Work(out)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _run(work: Callable[..., Any], item: Any) -> Any:
    return _work.run(work, item)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
