"""Points for K-means, and labelled points for logistic regression. numpy is imported only when a
result is checked, so that a list of benchmarks does not need it.
"""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from loomcard.suite.data.files import Numbers, dealt, lines, part, parts, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_SPREAD = 1.0  # of a cluster's points; its centre lies anywhere between these
_RANGE = 100.0


def write_clusters(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write points around random centres, as coordinates separated by commas."""
    dimensions = range(numbers["dimensions"])
    centres = [[rng.uniform(0, _RANGE) for _ in dimensions] for _ in range(numbers["clusters"])]
    for index, count in enumerate(dealt(numbers["points"], numbers["files"])):
        with part(folder, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                centre = rng.choice(centres)
                out.write(",".join(f"{rng.gauss(at, _SPREAD):.4f}" for at in centre) + "\n")


def check_kmeans(data: Path, output: Path, numbers: Numbers) -> None:
    """Check that each centre has as many points as lie nearest to it, and that the centres explain
    most of the points' spread.
    """
    import numpy as np

    said = json.loads("".join(lines(output)))
    points = _read(data)
    centres = np.array(said["centres"])
    require(
        centres.shape == (numbers["clusters"], numbers["dimensions"]),
        f"{len(centres)} centres of {numbers['clusters']}",
    )
    squares = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
    sizes = np.bincount(squares.argmin(axis=0), minlength=len(centres)).tolist()
    require(said["sizes"] == sizes, f"clusters of {said['sizes']} points, expected {sizes}")
    whole = ((points - points.mean(axis=0)) ** 2).sum()
    left = float(squares.min(axis=0).sum() / whole)
    require(left < 0.25, f"{left:.0%} of the points' spread is left, expected less than 25 %")


def write_labelled(folder: Path, numbers: Numbers, rng: Random) -> None:
    """Write points with a label of 0 or 1 before them, drawn by a logistic model."""
    weights = [rng.gauss(0, 2) for _ in range(numbers["features"])]
    for index, count in enumerate(dealt(numbers["rows"], numbers["files"])):
        with part(folder, index).open("w", encoding="utf-8") as out:
            for _ in range(count):
                row = [round(rng.gauss(0, 1), 4) for _ in weights]
                score = sum(weight * x for weight, x in zip(weights, row, strict=True))
                label = int(rng.random() < 1 / (1 + exp(-score)))
                out.write(f"{label}," + ",".join(map(str, row)) + "\n")


def check_regression(data: Path, output: Path, numbers: Numbers) -> None:
    """Check that the model's accuracy is what its own coefficients give, and well above chance."""
    import numpy as np

    said = json.loads("".join(lines(output)))
    rows = _read(data)
    weights = np.array(said["coefficients"])
    require(len(weights) == numbers["features"], f"{len(weights)} coefficients")
    right = (rows[:, 1:] @ weights + said["intercept"] > 0) == (rows[:, 0] > 0.5)
    accuracy = float(right.mean())
    require(
        abs(accuracy - said["accuracy"]) < 0.01,
        f"an accuracy of {said['accuracy']}, its coefficients give {accuracy:.4f}",
    )
    require(accuracy > 0.8, f"an accuracy of {accuracy:.4f}, expected 0.8")


def _read(folder: Path) -> Floats:
    import numpy as np

    return np.concatenate([np.loadtxt(file, delimiter=",", ndmin=2) for file in parts(folder)])
