"""What the compose cluster's logs say about a run."""

from loomcard.suite.on_docker import task_containers


def test_an_attempts_first_container_is_its_ams() -> None:
    """The first container is the AM's whatever its number, and again in the next attempt; a
    restart's epoch counts for more.
    """
    names = [
        "container_1700000000000_0001_01_000002",
        "container_1700000000000_0001_01_000003",
        "container_1700000000000_0001_01_000003",
        "container_e02_1700000000000_0001_01_000001",
        "container_1700000000000_0001_02_000001",
        "container_1700000000000_0002_01_000001",
        "container_1700000000000_0002_01_000010",
    ]
    assert task_containers(names) == {names[1], names[3], names[6]}
