"""The style of a report's plots: colours and signs that remain distinct in print and with colour
blindness, and SVG that needs no other file.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS: Final = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)
"""Okabe and Ito's palette, distinguishable in all common forms of colour vision; the yellow, which
paper swallows, is left out for a grey."""
LINES: Final[tuple[Any, ...]] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
REST: Final = "#e4e4e4"
"""The colour of what has no colour of its own."""
MARKERS: Final = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "d", "*")
HATCHES: Final = ("", "///", "\\\\\\", "xxx", "---", "|||", "/", "\\", "x", "")
"""A second sign beside the colour, for prints in grey."""
WIDTH: Final = 8.2

STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "loomcard",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "path.simplify": True,
}


@dataclass(frozen=True)
class Plot:
    """A plot as SVG, and the caption that says how it is defined, of how many, in which units."""

    title: str
    caption: str
    svg: str


class ShownFigure(Figure):
    """A figure that displays itself in a notebook, whether pyplot is loaded or not."""

    def _repr_svg_(self) -> str:
        with styled():
            return svg(self, id(self))


def panels(rows: int, columns: int, height: float, **sharing: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as the page, and its panels row by row."""
    figure = ShownFigure(figsize=(WIDTH, height), layout="constrained")
    found = figure.subplots(rows, columns, squeeze=False, **sharing)
    return figure, list(found.flat)


def line(index: int) -> dict[str, Any]:
    """Return the colour and the dashes of the index-th line of a plot."""
    turn = index // len(COLOURS)
    dashes = LINES[(index + turn) % len(LINES)]
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": dashes, "linewidth": 1.4}


def legend(figure: Figure, panel: Axes, columns: int = 4) -> None:
    """Draw one legend for all panels, below them."""
    handles, labels = panel.get_legend_handles_labels()
    count = min(columns, max(1, len(labels)))
    figure.legend(handles, labels, loc="outside lower left", ncols=count, handlelength=3.2)


def svg(figure: Figure, number: int) -> str:
    """Return the figure as an SVG element: no file header, no metadata, ids of its own, text as
    text.
    """
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    found = text.getvalue()
    found = found[found.index("<svg") :]
    found = re.sub(r"<metadata>.*?</metadata>", "", found, flags=re.DOTALL)
    found = re.sub(r'\bid="', f'id="f{number}-', found)
    found = re.sub(r"url\(#", f"url(#f{number}-", found)
    found = re.sub(r'href="#', f'href="#f{number}-', found)
    found = re.sub(r"(\d\.\d\d)\d+", r"\1", found)  # a hundredth of a point is fine enough,
    found = re.sub(r'(?<= d=")[^"]*', _coarser, found)  # in a long path a tenth
    found = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", found, count=1)
    found = re.sub(r'(<svg [^>]*?)height="[^"]*"', r"\1", found, count=1)
    return re.sub(r'(<svg [^>]*?)width="[^"]*"', r"\1", found, count=1)


def _coarser(path: re.Match[str]) -> str:
    return re.sub(r"(\d\.\d)\d", r"\1", path[0]).replace("\n", " ")


def styled() -> Any:
    """The context in which figures are made and written."""
    return mpl.rc_context(STYLE)
