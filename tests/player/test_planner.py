"""The process that plans for the player's AMs: a question a line, a decision a line."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from loomcard.player.planner import decisions
from loomcard.player.process import Player
from scenarios import app, scenario, stage

JOB = app("j", stage([1000] * 4, 1), stage([2000], 2, after=[0]), asks="altruistic")
WANTED = scenario(JOB, slots=10)


def question(**keys: object) -> bytes:
    """Of the job at 5 s, with a share of one slot."""
    given = {"application": "j", "now_ms": 5000, "share": [1024, 1], "waiting": [4, 1]}
    return msgspec.json.encode(given | {"running": []} | keys)


def test_a_plan_lives_from_question_to_question():
    """One of four must start, and while it runs none; then the next."""
    asked = [
        question(),
        question(now_ms=5100, waiting=[3, 1], running=[[0, 5000]]),
        question(now_ms=6000, waiting=[3, 1], running=[]),
    ]
    found = list(decisions(WANTED, asked))
    assert [each.must for each in found] == [[1, 0], [0, 0], [1, 0]]
    assert [each.next_ms for each in found] == [6000, 6000, 7000]


def test_the_process_answers_line_by_line(tmp_path: Path):
    """It reads what the player is given, and ends with its input."""
    given = tmp_path / "player-input.json"
    given.write_bytes(msgspec.json.encode({"scenario": WANTED, "hints": {}, "real_names": {}}))
    command = [sys.executable, "-P", "-m", "loomcard.player.planner", str(given)]
    asked = question() + b"\n" + question(share=[4096, 4]) + b"\n"
    done = subprocess.run(command, input=asked, capture_output=True, check=True, timeout=60)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"ready": True},
        {"must": [1, 0], "next_ms": 6000},
        {"must": [4, 0], "next_ms": 6000},
    ]


@pytest.mark.parametrize(("asks", "words"), [("altruistic", 2), ("unmarked", 0)])
def test_the_player_has_a_planner_where_it_is_needed(asks: str, words: int, tmp_path: Path):
    """The Python that runs the player."""
    wanted = scenario(msgspec.structs.replace(JOB, asks=asks))
    found = Player(wanted, tmp_path, tmp_path)._planner("/a/python")
    assert found == ["--planner", "/a/python"][:words]
