"""The mixes that come with Loomcard, by name; what is in one is read by `mix`."""

from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parent / "shipped"


def shipped() -> list[str]:
    """The names of the mixes that come with Loomcard."""
    return sorted(file.stem for file in SHIPPED.glob("*.yml"))
