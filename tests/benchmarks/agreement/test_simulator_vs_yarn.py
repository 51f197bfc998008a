"""The comparison of engines: its figures worked out by hand, and all of it against a known
cluster.
"""

from dataclasses import asdict

import pytest
from msgspec.structs import replace

from benchmarks.agreement.simulator_vs_yarn import (
    POLICIES,
    Calibration,
    calibrate,
    compare,
    comparison,
    run_all,
)
from loomcard.config import compile_config
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import ApplicationRecord, RunRecord
from loomcard.simulator import simulate


def record(engine, ends):
    found = RunRecord("drf", "w", 1, engine, ["memory_mb", "vcores"], [(0, (8192, 8))])
    for name, end in ends.items():
        found.applications.append(
            ApplicationRecord(name, "root.default", 0, [], [(0, end)], "SUCCEEDED")
        )
        row = (name, "s", 0, 1, "n1", False, (1024, 1), 0, 0, end, "completed")
        found.containers.append(ContainerRow(*row))
    return found


def known_cluster(delay_ms, am_start_ms):
    """Return a "real" cluster: the simulator with delays that only this cluster knows."""

    def play(scenario, policy, folder):
        real = replace(scenario, launch_delay_ms=delay_ms, am_start_ms=am_start_ms)
        return simulate(real, compile_config(policy.read_text(), "x"), policy="x")

    return play


def test_errors_are_parts_of_what_was_measured():
    found = comparison(
        "w",
        "drf",
        record("local", {"a": 1000, "b": 2000}),
        record("simulator", {"a": 1100, "b": 1900}),
    )
    assert found.errors == {"a": pytest.approx(0.1), "b": pytest.approx(-0.05)}
    assert found.mean_absolute_error == pytest.approx(0.075)
    assert found.makespan_error == pytest.approx(-0.05)
    assert found.disorder == 0


def test_only_well_separated_ends_must_keep_their_order():
    real = record("local", {"a": 1000, "b": 1200, "c": 2000})
    swapped = record("simulator", {"a": 1200, "b": 1000, "c": 2000})
    assert comparison("w", "drf", real, swapped).disorder == 0
    late = record("simulator", {"a": 2100, "b": 1200, "c": 2000})
    assert comparison("w", "drf", real, late).disorder == 1


def test_an_application_that_did_not_end_is_no_measurement():
    half = record("local", {"a": 1000})
    [row] = half.containers
    half.containers = [row._replace(finished_ms=None, kind="")]
    with pytest.raises(ValueError, match=r"w on local: \['a'\] did not end"):
        comparison("w", "drf", half, record("simulator", {"a": 1000}))


def test_calibration_finds_the_delays_of_a_cluster_that_is_known(tmp_path):
    found = calibrate(known_cluster(120, 1500), tmp_path, seed=1)
    # Heartbeats hide the exact numbers: a launch that is late by less than one costs nothing.
    assert found.launch_delay_ms == pytest.approx(120, abs=60)
    assert found.am_start_ms == pytest.approx(1500, abs=300)


def test_a_calibrated_simulator_foretells_a_known_cluster(tmp_path):
    found = compare("sleep-dags", Calibration(120, 0), known_cluster(120, 0), tmp_path, seed=1)
    assert found.mean_absolute_error == 0
    assert found.makespan_error == 0


def test_every_workload_stands_in_the_document_and_in_the_table(tmp_path):
    document = run_all(known_cluster(100, 0), tmp_path, seed=1)
    assert [each["workload"] for each in document["workloads"]] == list(POLICIES)
    assert document["calibration"] == asdict(Calibration(**document["calibration"]))
    table = (tmp_path / "agreement.md").read_text()
    assert all(f"| {name} |" in table for name in POLICIES)
