"""The journal: every segment replays on its own, byte for byte; damage is named; a difference is
found.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import loomcard
import scripted  # noqa: F401 - registers test policies
from compiled import queue, setup
from loomcard.model import records as r
from loomcard.model.journal import JournalError, read_segment, segments
from loomcard.policies.session import replay
from loomcard.testing.cluster import Cluster


def eventful(folder: Path, segment_rounds: int = 3) -> Cluster:
    """A run with turns, a timer, refusals, a late plan, a swap, completions and a snapshot in the
    middle.
    """
    engine = Cluster(
        setup(
            queue("root", "drf"), queue("root.a", "test-counter"), queue("root.b", "test-patient"),
        ),
        journal=folder, segment_rounds=segment_rounds,
    )  # fmt: skip
    for number in (1, 2, 3):
        engine.add_node(number, 3072, 3, rack=f"/r{number}")
    for app in (1, 2, 3):
        engine.add_app(app, queue=1 + app % 2)
        engine.ask(app, 6, hosts={"n2": 2, "n9": 1}, racks={"/r2": 2})
    refused = {2, 5}
    for step in range(20):
        engine.refuse = lambda _, step=step: "NODE_FULL" if step in refused else None
        for number in sorted(engine.containers)[: step % 3]:
            engine.complete(number)
        if step % 4 == 0:
            engine.ask(1 + step % 3, 4 + step % 5)
        if step == 9:
            engine.tell(r.Setup(0, 2, engine.compiled))
        if step in (6, 14):
            engine.tell(r.TimerFired(engine.now, 2))
        engine.round(400, late=step == 11)
    engine.session.journal.close()
    return engine


def test_every_segment_replays_to_the_same_bytes(tmp_path):
    """Whatever the length of the segments, each one alone gives the plans of the run."""
    for rounds in (1, 3, 7, 1000):
        folder = tmp_path / str(rounds)
        engine = eventful(folder, rounds)
        assert replay(folder) == []
        lines = [
            line for path in segments(folder) for pair in read_segment(path).rounds for line in pair
        ]
        assert lines == [line for pair in engine.history for line in pair]
        assert len(segments(folder)) == -(-20 // rounds)


def test_a_plan_that_would_come_out_otherwise_is_found(tmp_path):
    """Replay is no formality: another plan in the journal shows as a difference of that round."""
    eventful(tmp_path, 1000)
    [path] = segments(tmp_path)
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith('["plan",4,'))
    lines[at] = lines[at].replace('["allocate",', '["allocate",1', 1)
    path.write_text("\n".join(lines) + "\n")
    assert [d.round for d in replay(tmp_path)] == [4]


def test_the_run_does_not_depend_on_the_hash_seed(tmp_path):
    """The same batches give the same plans whatever PYTHONHASHSEED is."""
    eventful(tmp_path)
    code = (
        "import scripted, sys; from pathlib import Path; "
        "from loomcard.policies.session import replay; "
        "sys.exit(len(replay(Path(sys.argv[1]))))"
    )
    folders = (Path(__file__).parents[1], Path(loomcard.__file__).parents[1])
    paths = os.pathsep.join(map(str, folders))
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": paths},
            check=False,
        )
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda _: "nonsense\n", ':1: expected ["segment", {...}]'),
        (lambda _: '["other",{}]\n', "expected a segment"),
        (lambda t: t.replace('["batch"', '["bitch"', 1), "expected a batch and then its plan"),
    ],
)
def test_a_damaged_journal_is_one_clear_error(tmp_path, spoil, says):
    """File, line and expectation are named."""
    eventful(tmp_path, 1000)
    [path] = segments(tmp_path)
    path.write_text(spoil(path.read_text()))
    with pytest.raises(JournalError) as error:
        replay(tmp_path)
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_a_killed_process_leaves_a_readable_journal(tmp_path):
    """A last batch without its plan, or half a line, is left out; the rest replays."""
    eventful(tmp_path, 1000)
    [path] = segments(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
    assert replay(tmp_path) == []
    assert len(read_segment(path).rounds) == 19


def test_no_journal_is_said(tmp_path):
    """A folder without segments is an error that names the setting."""
    with pytest.raises(JournalError, match=r"loomcard\.journal\.dir"):
        replay(tmp_path)
