"""What coupling saves of its jobs, and reads again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, fields
from itertools import count
from json import dumps, loads

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiled import flat
from coupled import beat, coupling, job
from loomcard.policies.coupling.jobs import JobMemory, job_of
from loomcard.testing.cluster import Cluster

SAVED = [
    None, {}, {"jobs": {}}, {"jobs": {"application_1700000000000_0001": {}}},
    {"jobs": {"application_1700000000000_0001": {"maps": 3, "of a later version": [1]}}},
]  # fmt: skip


@pytest.mark.parametrize("saved", SAVED)
def test_what_another_version_saved_is_read(saved):
    made = Cluster(flat("coupling"), saved={"root.default:coupling": saved}, nodes=[(4096, 4)])
    job(made, 1, 2, 1)
    assert len(beat(made, 1)) == 2


def test_what_is_saved_is_all_of_a_job():
    names = {each.name for each in fields(JobMemory)} - {"done"}
    made = coupling(2)
    job(made, 1, 1, 1)
    beat(made, 1)
    made.round(2_000)
    (saved,) = made.saved.values()
    assert set(saved["jobs"]["application_1700000000000_0001"]) == names


@settings(max_examples=30)
@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 300)), max_size=4))
def test_where_maps_finished_is_read_as_it_was_saved(of_jobs):
    """Also where an older version named the hosts of each job."""
    jobs = [JobMemory(maps=9, finished=finished, p=0.5) for finished in of_jobs]
    hosts: defaultdict[str, int] = defaultdict(count().__next__)
    rows = loads(dumps([job.row(hosts) for job in jobs]))
    assert [job_of(row, [*hosts]) for row in rows] == jobs
    assert [job_of(asdict(job), []) for job in jobs] == jobs
    assert [job.done for job in jobs] == [sum(finished.values()) for finished in of_jobs]
    assert len(hosts) == len({host for finished in of_jobs for host in finished})
