"""Small plots of characters, for terminals and pipes."""

from __future__ import annotations

from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"


def columns(counts: Sequence[int], width: int, height: int) -> list[str]:
    """Return counts as columns ``height`` lines high; neighbours are added up until all fit."""
    each = -(-len(counts) // max(1, width))
    sums = [sum(counts[i : i + each]) for i in range(0, len(counts), each)]
    wide = max(1, width // max(1, len(sums)))
    most = max(sums, default=0) or 1
    levels = [-(-8 * height * count // most) for count in sums]
    return [
        "".join(_EIGHTHS[min(8, max(0, level - 8 * row))] * wide for level in levels)
        for row in reversed(range(height))
    ]


def bar(count: int, most: int, width: int) -> str:
    """Return one count as a bar; ``width`` characters stand for ``most``."""
    eighths = -(-8 * width * count // most) if most else 0
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()


def duration(ms: float) -> str:
    """Return a time in a readable unit: ``250 ms``, ``1.5 s``, ``3 min``, ``24 h``."""
    for unit, size in (("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.3g} ms"
