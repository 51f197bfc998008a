"""Tests of hints from Spark event logs: stages, parents, sizes, every compression. Broken logs are
reported by line.
"""

import contextlib
import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomcard.api.stages.dag_hint import DagStage, parse_dag
from loomcard.cli.app import run as command
from loomcard.workload.dag_stages import DagError
from loomcard.workload.readers.event_log import SNAPPY, CompressionError, plain
from loomcard.workload.readers.spark import executor_stages, read_event_log, task_stages


def event(name: str, **values: object) -> dict[str, object]:
    return {"Event": f"SparkListener{name}"} | {k.replace("_", " "): v for k, v in values.items()}


def stage(number: int, tasks: int, *parents: int) -> dict[str, object]:
    return {
        "Stage ID": number, "Stage Attempt ID": 0, "Stage Name": f"count at A.scala:{number}",
        "Number of Tasks": tasks, "Parent IDs": list(parents), "RDD Info": [],
        "Resource Profile Id": 0,
    }  # fmt: skip


def task(number: int, ms: int, reason: str = "Success") -> dict[str, object]:
    info = {"Task ID": 1, "Launch Time": 1000, "Finish Time": 1000 + ms, "Failed": False}
    return event("TaskEnd", Stage_ID=number, Task_End_Reason={"Reason": reason}, Task_Info=info)


def executor(name: str, cores: int = 2) -> dict[str, object]:
    info = {"Host": "n1", "Total Cores": cores, "Resource Profile Id": 0}
    return event("ExecutorAdded", Timestamp=1, Executor_ID=name, Executor_Info=info)


LOG = [
    {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
    event("EnvironmentUpdate", Spark_Properties={"spark.executor.memory": "4g"}),
    executor("1"),
    executor("2"),
    event("ExecutorRemoved", Executor_ID="1"),
    executor("3"),
    # Stage 1's output existed already, so it is skipped, and 2 comes after 0.
    event("JobStart", Job_ID=0, Stage_Infos=[stage(2, 2, 1), stage(0, 3), stage(1, 9, 0)]),
    {"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "Stage ID": "x"},
    task(0, 100),
    task(0, 900, "ExceptionFailure"),
    task(0, 200),
    task(0, 300),
    event("StageCompleted", Stage_Info=stage(0, 3)),
    task(2, 40),
    task(2, 60),
]
TEXT = "".join(json.dumps(each) + "\n" for each in LOG).encode()


def lz4_blocks(data: bytes) -> bytes:
    """Compress like lz4-java's LZ4BlockOutputStream: blocks, one of them not compressed, and an
    empty block at the end.
    """

    def block(token: int, body: bytes, whole: int) -> bytes:
        return struct.pack("<8sBiii", b"LZ4Block", token, len(body), whole, 0) + body

    half = len(data) // 2
    packed = bytes(cramjam.lz4.compress_block(data[:half], store_size=False))
    return (
        block(0x26, packed, half) + block(0x16, data[half:], len(data) - half) + block(0x16, b"", 0)
    )


def snappy_blocks(data: bytes) -> bytes:
    """Compress like snappy-java's SnappyOutputStream: a header, then lengths and blocks."""
    half = len(data) // 2
    packed = [bytes(cramjam.snappy.compress_raw(part)) for part in (data[:half], data[half:])]
    blocks = b"".join(struct.pack(">i", len(part)) + part for part in packed)
    return SNAPPY + struct.pack(">ii", 1, 1) + blocks


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
    "gz": lambda data: gzip.compress(data, mtime=0),
    "lz4": lz4_blocks, "snappy": snappy_blocks,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_a_log_is_read_as_spark_compresses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """At most two executors run at once, each of 4 GB and a tenth; four slots run tasks of 700 ms
    in total.
    """
    log = tmp_path / f"application_1_1.{name}"
    log.write_bytes(COMPRESSIONS[name](TEXT))
    run = read_event_log(log)
    assert executor_stages(run) == [DagStage("executors", 0, 2, 175.0, (4506, 2))]
    for words, stages in ((("--by", "stages"), task_stages(run)), ((), executor_stages(run))):
        assert command(["dag", "spark", "--event-log", str(log), *words]) == 0
        assert parse_dag(capsys.readouterr().out).stages == stages
    assert task_stages(run) == [
        DagStage("stage-0", 0, 3, 200.0, (2253, 1)),
        DagStage("stage-2", 0, 2, 50.0, (2253, 1), [0]),
    ]


def test_a_rolling_log_is_a_folder(tmp_path: Path) -> None:
    """The files of the folder are ordered by number, so 10 comes after 9."""
    lines = TEXT.splitlines(keepends=True)
    for number in range(1, 13):
        part = lines[number - 1 : None if number == 12 else number]
        (tmp_path / f"events_{number}_app").write_bytes(b"".join(part))
    (tmp_path / "appstatus_app").touch()
    assert task_stages(read_event_log(tmp_path))[1].after == [0]


def test_resource_profiles_say_what_their_executors_are(tmp_path: Path) -> None:
    """The priority of an ask is the number of its resource profile."""
    profile = event("ResourceProfileAdded", Resource_Profile_Id=0) | {
        "Executor Resource Requests": {
            "memory": {"Amount": 1000},
            "memoryOverhead": {"Amount": 24},
        },
        "Task Resource Requests": {"cpus": {"Amount": 2.0}},
    }
    log = tmp_path / "log"
    log.write_text("".join(json.dumps(each) + "\n" for each in [*LOG, profile]))
    assert executor_stages(read_event_log(log))[0].size == (1024, 2)
    assert task_stages(read_event_log(log))[0].size == (1024, 2)


def rdd_stage(number: int, rdds: list[int], *parents: int) -> dict[str, object]:
    return stage(number, 1, *parents) | {"RDD Info": [{"RDD ID": each} for each in rdds]}


def test_a_stage_that_ran_in_an_earlier_job_keeps_its_children(tmp_path: Path) -> None:
    """Spark 3.3 to 4.0 writes such a log with adaptive execution, the default. Job 1 gives stage 0
    the new name 1 and skips it; job 2 does the same with stages 0 and 2.
    """
    one, two, three = [3, 0, 1, 2], [6, 4, 5], [9, 7, 8]
    jobs = [
        [rdd_stage(0, one)],
        [rdd_stage(1, one), rdd_stage(2, two, 1)],
        [rdd_stage(3, one), rdd_stage(4, two, 3), rdd_stage(5, three, 4)],
    ]
    log = [executor("1")]
    for number, infos in enumerate(jobs):
        log += [event("JobStart", Job_ID=number, Stage_Infos=infos), task(2 * number, 10)]
    log[-1] = task(5, 10)
    (tmp_path / "log").write_text("".join(json.dumps(each) + "\n" for each in log))
    found = task_stages(read_event_log(tmp_path / "log"))
    assert [(each.id, each.after) for each in found] == [
        ("stage-0", []), ("stage-2", [0]), ("stage-5", [1])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"ZV\x01\x00\x05", "compressed with lzf, expected zstd"),
        (b"", "expected tasks that succeeded, found none"),
        (b"{}\n", r"line 1: Object missing required field `Event`"),
        (b'{"Event":"SparkListenerJobStart"}', r"line 1: .*`Stage Infos`"),
        (TEXT + b'{"Event":', r"line 16: Input data was truncated"),
        (TEXT.replace(b"ExecutorAdded", b"Other"), "expected executors, found none"),
        (b"LZ4Block" + b"\0" * 3, "unpack_from requires"),
    ],
)
def test_what_is_no_log_is_refused_by_its_line(tmp_path: Path, text: bytes, message: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(text)
    with pytest.raises(DagError, match=message) as refused:
        read_event_log(log)
    assert str(log) in str(refused.value)
    assert refused.value.hint.startswith("give ")


@given(st.sampled_from(sorted(COMPRESSIONS)), st.integers(0, 400), st.binary(max_size=6))
def test_damaged_bytes_are_read_or_refused(name: str, place: int, junk: bytes) -> None:
    """There is no other error, however the disk has damaged a log."""
    data = COMPRESSIONS[name](b'{"Event": "x"}\n' * 30)
    with contextlib.suppress(CompressionError):
        assert isinstance(plain(data[:place] + junk + data[place + len(junk) :]), bytes)
