"""Times of containers from the logs of NodeManagers."""

from loomcard.cluster.container_times import ContainerRun
from loomcard.player.node_logs import runs_in

APP = "application_1700000000000_0002"
NAME = "container_e01_1700000000000_0002_01_00000"
ZERO = 1_700_000_000_000  # 2023-11-14 22:13:20 UTC


def line(time: str, number: int, before: str, after: str, node: int = 1) -> str:
    """Return a line as compose prints it into a pipe, with the control sequence at its begin."""
    return (
        f"\x1b[2Knodemanager-{node}  | 2023-11-14 22:13:{time} INFO container.ContainerImpl: "
        f"Container {NAME}{number} transitioned from {before} to {after}\n"
    )


def test_a_container_runs_from_running_to_the_end_of_its_process() -> None:
    """Later states change nothing; a container that never ran is left out, and one that still runs
    has no end.
    """
    lines = [
        line("20,250", 1, "SCHEDULED", "RUNNING", node=2),
        line("20,400", 2, "SCHEDULED", "RUNNING"),
        "nodemanager-1  | Nov 14, 2023 10:13:20 PM another.Logger says",
        line("21,001", 2, "RUNNING", "EXITED_WITH_SUCCESS"),
        line("21,500", 2, "EXITED_WITH_SUCCESS", "DONE"),
        line("22,000", 3, "LOCALIZING", "KILLING"),
        line("22,100", 3, "KILLING", "CONTAINER_CLEANEDUP_AFTER_KILL"),
        line("23,000", 1, "RUNNING", "KILLING", node=2),
    ]
    names = {"nodemanager-1": "n1", "nodemanager-2": "n2"}
    assert runs_in(lines, names, {f"{NAME}2"}) == [
        ContainerRun(f"{NAME}1", APP, "n2", True, 0, 0, ZERO + 250, None),
        ContainerRun(f"{NAME}2", APP, "n1", False, 0, 0, ZERO + 400, ZERO + 1001),
    ]
    killed = line("23,200", 1, "KILLING", "CONTAINER_CLEANEDUP_AFTER_KILL", node=2)
    assert runs_in([*lines, killed], names, set())[0].ended_ms == ZERO + 3200
