"""Tests of names of the version before: journals, YAML, the policy API."""

import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

import loomcard
import loomcard.advanced
from compiled import flat
from loomcard.api.preempt.owed import OwedTask
from loomcard.api.registry import build
from loomcard.config import FindingsError, compile_config
from loomcard.engine.session import replay
from loomcard.testing import Cluster
from loomcard.wire import messages as r
from loomcard.wire.journal import rounds, segments
from loomcard.wire.plain_data import decode

WORDS = {
    '"reservations"': '"holds"',
    '["reserve",': '["hold",',
    '["unreserve",': '["release_hold",',
    '"NODE_RESERVED"': '"HELD"',
    '"RESERVATION ': '"HOLDS ',
    "reservation_share_ppm": "hold_share_ppm",
    "reservation_nodes": "hold_nodes",
    '["config",': '["setup",',
    '"config":': '"setup":',
    '"reported":': '"told":',
    "reserve_after_ms": "hold_after_ms",
    f'"hello":["hello",{r.SCHEMA},': '"hello":["hello",3,',
}


def test_a_journal_with_the_words_of_schema_3_replays(tmp_path: Path) -> None:
    """Since then records, decisions, reasons, keys and options have got other names."""
    made = Cluster(flat("fifo", reserve_after_ms=1), nodes=[(4096, 8)] * 2, journal=tmp_path)
    made.add_app(1)
    made.ask(1, 4, (2048, 1))
    made.round(1000)
    made.add_app(2)
    made.ask(2, 2, (4096, 1))
    made.round(1000)
    for number in (1, 2, 3, 4):
        made.add_app(10 + number)
        made.ask(10 + number, 1, (1024, 1))
        made.complete(number)
        made.round(1000)
    made.session.journal.close()
    found = 0
    for path in segments(tmp_path):
        text = path.read_text()
        for new, old in WORDS.items():
            found += new in text
            text = text.replace(new, old)
        path.write_text(text)
    assert found >= 5
    assert any(each.plan.decisions for each in rounds(tmp_path))
    assert replay(tmp_path) == []


def test_former_keys_of_yaml_are_taken_with_a_warning() -> None:
    """Each warning names the present key. If both keys are given, the former one is unknown."""
    said: list[str] = []
    text = "version: 1\npolicy: fifo\nhold_share: 20%\nhold_nodes: 2\noptions: {hold_after_ms: 5}\n"
    found = compile_config(text, "t", warn=lambda finding: said.append(f"{finding}"))
    today = text.replace("hold_share", "reservation_share").replace(
        "hold_nodes", "reservation_nodes"
    )
    assert found == compile_config(today.replace("hold_after_ms", "reserve_after_ms"), "t")
    assert [one.split(": ")[2].split(";")[0] for one in said] == [
        "hold_share is now reservation_share",
        "hold_nodes is now reservation_nodes",
        "hold_after_ms is now reserve_after_ms",
    ]
    with pytest.raises(FindingsError, match="unknown key 'hold_nodes'"):
        compile_config(today + "hold_nodes: 3\n", "t")


def test_an_applied_configuration_of_the_version_before_is_built() -> None:
    """A store contains the options under their former names."""
    assert build("fifo", {"hold_after_ms": 7}).reserve_after_ms == 7
    with pytest.raises(TypeError):
        build("fifo", {"hold_after_ms": 7, "reserve_after_ms": 7})


@pytest.mark.parametrize(
    ("old", "new"), [("HOLD_AFTER_MS", "RESERVE_AFTER_MS"), ("Hold", "Reservation")]
)
def test_former_exports_warn_and_name_the_new_one(old: str, new: str) -> None:
    """A former name returns the same object as the new one."""
    with pytest.warns(DeprecationWarning, match=f"{old} is now loomcard.{new}"):
        assert getattr(loomcard, old) is not None


def test_what_is_advanced_now_is_still_found_in_its_former_place() -> None:
    """The warning names the new place."""
    with pytest.warns(DeprecationWarning, match="LazyHeap is now loomcard.advanced.LazyHeap"):
        assert loomcard.LazyHeap is loomcard.advanced.LazyHeap


def of_former_verbs() -> tuple[list[str], set[str]]:
    """Return the warnings of a policy that calls each former verb, and the files they name."""
    said: list[str] = []
    places: set[str] = set()

    @dataclass(frozen=True)
    class Old:
        def decide(self, view: loomcard.ClusterView) -> loomcard.Plan:
            plan = loomcard.Plan(view)
            for ask in list(view.asks)[:1]:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    small, node = view.nodes
                    assert plan.why_no_hold(ask, small) == "NODE_FULL"
                    plan.hold(ask, node, view.now_ms + 7)
                    assert [held.until_ms for held in view.holds] == [view.now_ms + 7]
                    assert len(view.holds) == len(ask.holds) == 1
                    assert ask.hold is node.hold
                    plan.release_hold(ask)
                    assert not view.reservations
                    plan.grant(ask, node, "tag")
                    assert [c.tag for c in node.containers] == ["tag"]
                    loomcard.fill(plan, order=loomcard.by_priority, hold_after_ms=5)
                said.extend(str(one.message) for one in warned)
                places.update(one.filename for one in warned)
            with pytest.raises(TypeError, match="unexpected keyword argument 'hold_ms'"):
                loomcard.fill(plan, order=loomcard.by_priority, hold_ms=5)
            return plan

    made = Cluster(Old, nodes=[(512, 8), (4096, 8)])
    made.add_app(1)
    made.ask(1, 1)
    made.round()
    assert json.loads(made.history[-1][1])[1] == 1
    return said, places


def test_a_plan_takes_its_former_verbs() -> None:
    """They do what the new ones do, and the warning names the new verb."""
    names = [
        ("plan.why_no_hold", "plan.why_no_reservation"),
        ("plan.hold", "plan.reserve"),
        ("view.holds", "view.reservations"),
        ("view.holds", "view.reservations"),
        ("ask.holds", "ask.reservations"),
        ("ask.hold", "ask.reservation"),
        ("node.hold", "node.reservation"),
        ("plan.release_hold", "plan.unreserve"),
        ("plan.grant", "plan.allocate_checked"),
        ("fill(hold_after_ms=...)", "fill(reserve_after_ms=...)"),
    ]
    assert of_former_verbs()[0] == [
        f"{old} is now {new}; the old name goes with the next version" for old, new in names
    ]


def test_the_place_of_such_a_warning_is_the_policys_own_file() -> None:
    """Its author corrects that line."""
    assert of_former_verbs()[1] == {__file__}


def test_classes_of_memories_that_have_moved_are_found() -> None:
    """A journal of before names the module in which the class was."""
    task = {"is": "loomcard.policies.hdrf.placement:OwedTask", "of": ["root.a", 1, [1, 2], "", 9]}
    owed = decode(task)
    assert isinstance(owed, OwedTask)
    assert (owed.leaf, owed.node, owed.until_ms) == ("root.a", 1, 9)
