"""The process of the models: one message per line, one answer per line."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec

from loomcard.player.model_process import PlayerInput
from loomcard.player.played_master import Heard
from loomcard.player.process import WARM_UP, _warm_up
from scenarios import app, scenario, stage


def test_the_process_answers_line_by_line(tmp_path: Path):
    """It reads the player's input, knows the warm-up too, and ends with its input."""
    wanted = scenario(app("j", stage([100] * 2, 1)))
    given = tmp_path / "player-input.json"
    given.write_bytes(msgspec.json.encode(PlayerInput(wanted, warm_up=_warm_up(wanted))))
    heard = [Heard("j", 5, registered=True), Heard(WARM_UP, 6, registered=True)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "loomcard.player.model_process", str(given)],
        input=b"".join(msgspec.json.encode(each) + b"\n" for each in heard),
        capture_output=True,
        check=True,
        timeout=60,
    )
    ready, *said = [json.loads(line) for line in done.stdout.splitlines()]
    assert ready == {"ready": True}
    assert [each["asks"][0]["count"] for each in said] == [2, 1]


def test_the_process_needs_no_more_than_the_image_has() -> None:
    """The compose cluster's image has Loomcard without numpy and polars."""
    without = "import sys; sys.modules.update(numpy=None, polars=None)"
    code = f"{without}; import loomcard.player.model_process"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
