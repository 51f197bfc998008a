import pytest

from loomcard.player.container_ids import container_key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("container_17_0003_02_000005", ("application_17_0003", 2, 5)),
        ("container_e01_17_0003_02_000005", ("application_17_0003", 2, (1 << 40) + 5)),
    ],
)
def test_a_container_is_the_same_however_it_is_written(
    text: str, key: tuple[str, int, int]
) -> None:
    """An epoch, which YARN increases at each restart of the RM, belongs to the number."""
    assert container_key(text) == key


def test_another_text_is_refused() -> None:
    """Only a container id has a key."""
    with pytest.raises(ValueError, match="is not an id like container_"):
        container_key("application_17_0003")
