"""Applications by the dozen: whose turn it is and when, by dice of their own."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from loomcard.document import Document
from loomcard.workload.draw import Drawing
from loomcard.workload.scenario import ScenarioApplication
from loomcard.workload.schema import Generate


def generated(
    document: Document, drawing: Drawing, generate: Generate
) -> Iterator[ScenarioApplication]:
    """The applications of a ``generate`` block by time of submission. How many there are of each
    class is exact, not drawn; their order is drawn.
    """
    counts = class_counts(document, generate)
    turns = [index for index, count in enumerate(counts) for _ in range(count)]
    drawing.dice("generate", "order").shuffle(turns)
    gaps = drawing.dice("generate", "arrivals")
    numbers = [0] * len(counts)
    at = float(generate.start_ms)
    for turn, index in enumerate(turns):
        chosen = generate.classes[index]
        numbers[index] += 1
        if turn:
            at += drawing.number(generate.arrivals, ("generate", "arrivals"), gaps)
        path = ("generate", "classes", index, "application")
        tags = list(dict.fromkeys([chosen.id, *chosen.application.tags]))
        model = chosen.application.model_copy(update={"tags": tags})
        made = drawing.application(model, path, f"{chosen.id}-{numbers[index]}", round(at))
        if made is not None:
            yield made


def class_counts(document: Document, generate: Generate) -> list[int]:
    """How many applications of each class; all 0, with a finding, where that cannot be told."""
    path = ("generate", "classes")
    stated = [c.count for c in generate.classes]
    total = generate.count
    if total is None:
        if None not in stated:
            return [count or 0 for count in stated]
        message = "how many applications? Neither generate.count nor every class's count is given"
        document.report(path, message, "add generate.count")
        return [0] * len(stated)
    left = total - sum(count or 0 for count in stated)
    shares = [c.share for c in generate.classes]
    for index, chosen in enumerate(generate.classes):
        if chosen.count is not None and chosen.share is not None:
            document.report((*path, index), "a class has a share or a count, not both")
            return [0] * len(stated)
    rest = [i for i, c in enumerate(generate.classes) if c.count is None and c.share is None]
    wanted = [(share or 0.0) * total for share in shares]
    remains = left - sum(wanted)
    for index in rest:
        wanted[index] = remains / len(rest)
    if left < 0 or remains < -1e-6 or (not rest and remains > 1e-6):
        taken = total - remains
        message = f"the classes take {taken:g} of {total} applications"
        document.report(
            path, message, "let one class go without share and count: it takes the rest"
        )
        return [0] * len(stated)
    counts = [
        count if count is not None else floor(w + 1e-9)
        for count, w in zip(stated, wanted, strict=True)
    ]
    by_rest = sorted(range(len(counts)), key=lambda i: (-(wanted[i] - floor(wanted[i] + 1e-9)), i))
    for index in [i for i in by_rest if stated[i] is None][: total - sum(counts)]:
        counts[index] += 1
    return counts
