"""Many applications from classes: their order and times come from random streams of their own."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

from loomcard.validation.findings import nearest
from loomcard.validation.reading import Document
from loomcard.workload.sampling import Sampler
from loomcard.workload.scenario import ScenarioApplication
from loomcard.workload.schema import Generate


def generated(
    document: Document, sampler: Sampler, generate: Generate
) -> Iterator[ScenarioApplication]:
    """Return the applications of a ``generate`` block by time of submission. The number of each
    class is exact, not drawn; their order is drawn.
    """
    turns = _turns(document, sampler, generate)
    gaps = sampler.rng("generate", "arrivals")
    numbers = [0] * len(generate.classes)
    at = float(generate.start_ms)
    for turn, index in enumerate(turns):
        chosen = generate.classes[index]
        numbers[index] += 1
        if turn:
            at += sampler.number(generate.arrivals, ("generate", "arrivals"), gaps)
        path = ("generate", "classes", index, "application")
        tags = list(dict.fromkeys([chosen.tag or chosen.id, *chosen.application.tags]))
        drawn = chosen.application.numbers | chosen.numbers
        model = chosen.application.model_copy(update={"tags": tags, "numbers": drawn})
        name = f"{chosen.id}-{numbers[index]}" if generate.name is None else ""
        made = sampler.application(model, path, name or f"{generate.name}{turn + 1}", round(at))
        if made is not None:
            yield made


def _turns(document: Document, sampler: Sampler, generate: Generate) -> list[int]:
    """Return the class of each application, by its index: as ``order`` says, or shuffled."""
    if not generate.order:
        counts = class_counts(document, generate)
        turns = [index for index, count in enumerate(counts) for _ in range(count)]
        sampler.rng("generate", "order").shuffle(turns)
        return turns
    path = ("generate", "order")
    known = [each.id for each in generate.classes]
    stated = generate.count is not None or any(
        each.count is not None or each.share is not None for each in generate.classes
    )
    if stated:
        message = "the order says how many applications there are of each class"
        document.report(path, message, "remove count and share, or the order")
    for place, name in enumerate(generate.order):
        if name not in known:
            document.report((*path, place), f"there is no class {name!r}", nearest(name, known))
    return [known.index(name) for name in generate.order if name in known]


def class_counts(document: Document, generate: Generate) -> list[int]:
    """Return how many applications each class has; all 0, with a finding, if that is not known."""
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
