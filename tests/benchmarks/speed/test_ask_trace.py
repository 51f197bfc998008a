"""The steps of an ask, from the stamps of both processes."""

from pathlib import Path

from benchmarks.speed.ask_trace import STEPS, join, steps_us, table

ROUND = (1_000, 2_000, 4_000, 5_000, 6_000, 9_000, 9_500, 10_000, 10_200, 10_700)
"""Woken, begun, sent, received, decoded, decided, encoded, replied, read, allocated; in ns."""


def test_an_ask_before_the_round_pays_for_every_step() -> None:
    """The steps add up to the whole wait."""
    steps = steps_us(400, ROUND)
    assert steps == [0.6, 1.0, 2.0, 1.0, 1.0, 3.0, 0.5, 0.5, 0.2, 0.5]
    assert round(sum(steps), 3) == 10.3
    assert len(steps) == len(STEPS)


def test_an_ask_during_the_hold_pays_for_the_rest_of_it() -> None:
    """What was over before the ask costs it nothing."""
    assert steps_us(1_500, ROUND)[:3] == [0, 0.5, 2.0]


def test_a_call_is_joined_with_the_stamps_inside_it(tmp_path: Path) -> None:
    """Rounds that the policy process did not stamp, such as the first ones, are left out."""
    java = tmp_path / "java.trace"
    java.write_text("light,400,1000,2000,4000,10000,10200,10700\nlight,1,2,3,4,5,6,7\n")
    found = join(java, [ROUND[3:7], (20_000, 20_001, 20_002, 20_003)])
    assert found == {"light": [steps_us(400, ROUND)]}
    assert table("light", found["light"]).row_count == len(STEPS) + 1
