"""Checks of the values that a policy passes to its plan, at the call: a value that cannot cross the
wire would otherwise cost every queue its round.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

MOST = 2**53
"""Beyond this, whole numbers are not exact in every JSON reader."""
LONGEST_WORD = 1_000


class PlanError(Exception):
    """A policy tried what a plan must not do; the message names the decision and the reason."""


def whole(value: Any, what: str) -> int:
    """Return ``value`` as an int. Raises PlanError if it is not a whole number, such as 1500.5, or
    is beyond ``MOST``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise PlanError(f"{what}: expected a whole number, not {value!r}") from None
    if not -MOST <= number <= MOST:
        raise PlanError(f"{what}: {number} is beyond {MOST}")
    return number


def amounts(values: Sequence[Any], width: int, what: str) -> tuple[int, ...]:
    """Return amounts of ``width`` resource types. Raises PlanError if their count is another, or
    one is not a whole number.
    """
    found = tuple(whole(value, what) for value in values)
    if len(found) != width:
        raise PlanError(f"{what}: expected {width} amounts, not {len(found)}")
    return found


def word(value: object, what: str) -> str:
    """Return a reason as text. Raises PlanError if it is too long or cannot be sent as text."""
    text = str(value)
    if len(text) > LONGEST_WORD:
        raise PlanError(f"{what}: {len(text)} characters; at most {LONGEST_WORD}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise PlanError(f"{what}: {text!r} cannot be sent: {error.reason}") from None
    return text
