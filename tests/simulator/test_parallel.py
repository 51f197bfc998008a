"""Several policies at once, each in its own process: the same records, and faults are reported."""

import pytest

import scripted  # noqa: F401 - registers test policies
from loomcard.results.metrics import facts
from loomcard.simulator import PolicyFaultError
from loomcard.simulator.parallel import Run, simulate_all
from scenarios import app, compiled, random_scenario, scenario, stage


def test_processes_change_nothing_but_the_order_of_progress():
    wanted, seen = random_scenario(8), set()
    runs = [Run(name, compiled(name)) for name in ("fifo", "drf")]
    alone = simulate_all(wanted, runs, 1)
    together = simulate_all(wanted, runs, 2, lambda index, _: seen.add(index))
    assert [facts(r) for r in alone] == [facts(r) for r in together]
    assert [r.containers for r in alone] == [r.containers for r in together]
    assert seen == {0, 1}


def test_a_policy_that_raises_in_a_process_is_reported_with_its_traceback(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    def decide(self, view):\n"
        "        raise ValueError('no such luck')\n"
    )
    wanted = scenario(app("j", stage([10])))
    runs = [Run("drf", compiled("drf")), Run("mine", compiled(f"{file}:Mine"))]
    with pytest.raises(PolicyFaultError, match="no such luck") as error:
        simulate_all(wanted, runs, 2)
    assert "mine.py" in error.value.hint
