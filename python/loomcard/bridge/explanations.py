"""Answers why applications wait: on request in full, and as sentences for YARN's diagnostics.

The order in which policies would serve is found by a trial. It runs in a copy of the process, so
that it costs the rounds nothing and cannot change what they see.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loomcard.bridge.copies import Copy, CopyError
from loomcard.engine.explain import Explainer, waiting
from loomcard.engine.session import Session
from loomcard.engine.trial import order
from loomcard.model.objects import Application, Ask
from loomcard.model.queue import Queue
from loomcard.wire import messages

TRIAL_S = 5.0
"""How long a trial may take; then the explanation is given without it."""
TRIALS = 2
"""How many trials run at a time."""
REFRESH_MS = 15_000
"""After how many ms a sentence is looked at again although its reason is the same."""
SENTENCES_S = 0.005
"""How many seconds of CPU of one call go into sentences; the others follow with the next calls. The
calls come once a second, and rounds wait meanwhile: this is half a per cent of all asks.
"""
ASKS_S = 0.1
"""How many seconds of CPU go into a list of asks, which a user has requested."""


@dataclass
class _Trial:
    """A copy of the process that tries the order."""

    copy: Copy
    document: dict[str, Any]


@dataclass
class _Told:
    code: str | None
    at_ms: int
    text: str


@dataclass
class Explanations:
    """The explanations of one session; every call comes between two rounds.

    ``clock``: seconds since any zero. ``busy``: seconds of CPU that this thread has used.
    """

    session: Session
    clock: Callable[[], float] = time.monotonic
    busy: Callable[[], float] = time.thread_time
    _trials: dict[messages.Explain, _Trial] = field(default_factory=dict)
    _told: dict[int, _Told] = field(default_factory=dict)

    def explain(self, wanted: messages.Explain) -> messages.Explained | messages.Explaining:
        """The reply to a request: ``Explaining`` while a trial runs."""
        trial = self._trials.get(wanted)
        if trial is not None:
            return self._poll(wanted, trial)
        explainer = Explainer(self.session.mirror, self.session.tree)
        found = self._find(wanted)
        if found is None:
            return messages.Explained(None)
        if wanted.kind == "asks":
            end_s = self.busy() + ASKS_S
            return messages.Explained(explainer.asks(found, lambda: self.busy() >= end_s))
        if isinstance(found, Queue):
            return messages.Explained(explainer.queue(found))
        self._end_overdue()
        asks = [ask for ask in found.asks if ask.count > 0]
        if not asks:
            return messages.Explained(explainer.application(found))
        if len(self._trials) < TRIALS:
            document = explainer.application(found)
            self._trials[wanted] = self._start(explainer, asks[0], document)
        return messages.Explaining()

    def _find(self, wanted: messages.Explain) -> Application | Queue | None:
        state = self.session.mirror.state
        if wanted.kind == "queue" or wanted.name in state.by_path:
            return state.by_path.get(wanted.name)
        apps = state.applications.values()
        return next((app for app in apps if app.id == wanted.name), None)

    def _start(self, explainer: Explainer, ask: Ask, document: dict[str, Any]) -> _Trial:
        def tried() -> bytes:
            return json.dumps(order(explainer, ask, time.monotonic)).encode()

        return _Trial(Copy(tried, TRIAL_S, self.clock), document)

    def _poll(
        self, wanted: messages.Explain, trial: _Trial
    ) -> messages.Explained | messages.Explaining:
        document = trial.document
        try:
            said = trial.copy.poll()
        except CopyError:
            document["order"] = None
        else:
            if said is None:
                return messages.Explaining()
            document["order"] = found = json.loads(said)
            document["sentence"] += f". {found['text']}"
        del self._trials[wanted]
        return messages.Explained(document)

    def _end_overdue(self) -> None:
        """End trials that nobody asks about any more."""
        for name, trial in list(self._trials.items()):
            if trial.copy.is_overdue:
                del self._trials[name]
                trial.copy.end()

    # Sentences

    def sentences(self, wanted: messages.Sentences) -> messages.SentencesReply:
        """The texts that changed. Applications that wait for their AM come first."""
        self._end_overdue()
        mirror = self.session.mirror
        now_ms = mirror.now_ms
        explainer = Explainer(mirror, self.session.tree)
        texts: list[tuple[int, str | None]] = []
        waits = list(waiting(mirror.state.applications.values()))
        self._forget({app.number for app, _ in waits}, texts, wanted.most)
        due = self._due(waits, now_ms)
        end_s = self.busy() + SENTENCES_S
        for app, ask in due:
            if len(texts) >= wanted.most or self.busy() >= end_s:
                break
            text = explainer.sentence(explainer.find(ask))
            told = self._told.get(app.number)
            if told is None or told.text != text:
                texts.append((app.number, text))
            self._told[app.number] = _Told(ask.reported_reason, now_ms, text)
        return messages.SentencesReply(texts)

    def _forget(self, waits: set[int], texts: list[tuple[int, str | None]], most: int) -> None:
        for app in [app for app in self._told if app not in waits][:most]:
            del self._told[app]
            texts.append((app, None))

    def _due(
        self, waits: list[tuple[Application, Ask]], now_ms: int
    ) -> list[tuple[Application, Ask]]:
        fresh, old = [], []
        for each in waits:
            told = self._told.get(each[0].number)
            if told is None or told.code != each[1].reported_reason:
                fresh.append(each)
            elif now_ms - told.at_ms >= REFRESH_MS:
                old.append(each)
        fresh.sort(key=lambda each: not each[1].is_am)
        return [*fresh, *old]
