"""Every message of docs/reference/wire.md, read and written as YARN does: byte for byte."""

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from loomcard.wire import messages

WIRE = Path(__file__).parents[1] / "golden" / "wire"
REQUESTS = ("hello", "compile", "batch", "explain", "sentences", "header")
REPLIES = (
    "hello_reply", "compiled", "findings", "error", "plan", "plan_resync", "explained",
    "explaining", "sentences_reply", "header_reply",
)  # fmt: skip


def golden(name: str) -> str:
    return (WIRE / f"{name}.json").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_read_and_written_back_byte_for_byte(name: str) -> None:
    """Python reads every part of a request."""
    text = golden(name)
    assert messages.write(messages.read_request(text)) == text


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_read_and_written_back_byte_for_byte(name: str) -> None:
    """Python writes exactly the golden file, which Java reads."""
    text = golden(name)
    assert messages.write(messages.read_reply(text)) == text


def test_the_golden_batch_holds_every_record() -> None:
    """Every record of the wire is in the golden batch."""
    batch = messages.read_request(golden("batch"))
    assert isinstance(batch, messages.Batch)
    assert {type(record) for record in batch.records} == set(get_args(messages.AnyRecord))


def test_every_golden_file_is_tested() -> None:
    """Every golden file is read by at least one language."""
    assert {path.stem for path in WIRE.glob("*.json")} == {*REQUESTS, *REPLIES}


def test_fields_mean_what_the_page_says() -> None:
    """Each place in an array has the meaning of its name: the byte comparison would not notice a
    swap of two.
    """
    batch = messages.read_request(golden("batch"))
    assert isinstance(batch, messages.Batch)
    assert (batch.round, batch.first_seq, batch.now_ms) == (7, 4242, 29)
    assert batch.check == messages.Check(1, 1, 1, pending=3, free=(8192, 9, 4))
    ask = next(r for r in batch.records if isinstance(r, messages.AskChangedRecord))
    assert (ask.attempt, ask.priority, ask.allocation_request_id, ask.count) == (1, 20, -1, 3)
    assert (ask.hosts, ask.racks, ask.relax_locality) == (
        {"n1": 2, "n2": 1},
        {"/rack1": 2, "/rack2": 1},
        True,
    )
    assert ask.strict_racks == ["/rack2"]
    done = next(r for r in batch.records if isinstance(r, messages.ContainerCompletedRecord))
    assert (done.container, done.kind, done.exit_status) == (41, "completed", -1000)
    assert (done.launched_ms, done.ended_ms) == (25, 26)
    node = next(r for r in batch.records if isinstance(r, messages.NodeAddedRecord))
    assert (node.label, node.name, node.shared) == ("", "n1", False)
    moved = next(r for r in batch.records if isinstance(r, messages.NodeRelabelledRecord))
    assert (moved.label, moved.shared) == ("ssd", True)
    kept = next(r for r in batch.records if isinstance(r, messages.ContainerAddedRecord))
    assert (kept.allocated_ms, kept.started_ms, kept.preempting_since) == (-7, 24, None)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('["batch",1,1,1,[0,0,0,0],[["node_exploded",1,1]]]', "$[5]"),
        ('["batch",1,1,1,[0,0,0,0],[["node_heartbeat",1,"one"]]]', "$[5][0][2]"),
        ('["batch",1,1,1,[0,0,0],[]]', "$[4]"),
        ('["bunch",1,1,1,[0,0,0,0],[]]', "bunch"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, place: str) -> None:
    """Unknown tags, wrong types and missing fields are errors that name the place."""
    with pytest.raises(msgspec.MsgspecError) as caught:
        messages.read_request(text)
    assert place in str(caught.value)
