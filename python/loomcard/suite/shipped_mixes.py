"""The mixes that ship with Loomcard, by name; `mix` reads their content."""

from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parent / "shipped"


def shipped() -> list[str]:
    """The names of the mixes that ship with Loomcard."""
    return sorted(file.stem for file in SHIPPED.glob("*.yml"))
