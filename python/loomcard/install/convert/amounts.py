"""Amounts and percentages as stock schedulers write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from loomcard.install.convert.conversion import ConversionError

_NAMES: Final = {
    "memory": "memory_mb",
    "memory-mb": "memory_mb",
    "mb": "memory_mb",
    "vcore": "vcores",
}
WHOLE: Final = Decimal(100)
_MEBIBYTE: Final = 2**20
_UNITS: Final = {
    "": _MEBIBYTE, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}  # fmt: skip
"""Bytes by Hadoop's units of memory, of which M and G are decimal."""
BINARY: Final = {"": _MEBIBYTE, "m": 2**20, "M": 2**20, "g": 2**30, "G": 2**30}
"""The units of CapacityScheduler's maximum-allocation."""
_OLD_STYLE: Final = re.compile(r"(-?\d+)(?:\.\d*)?\s*(mb|vcores)\b", re.IGNORECASE)
_OLD_PERCENT: Final = re.compile(r"(-?\d+(?:\.\d*)?)\s*%\s*(memory|cpu)", re.IGNORECASE)

Amounts = dict[str, int]
Percentages = dict[str, Decimal]


def resource(name: str) -> str:
    """Return the name of a resource as a policy configuration has it."""
    return _NAMES.get(name.strip(), name.strip())


def percent(number: Decimal) -> str:
    """Return a percentage such as ``12.5%``, rounded down to millionths of the whole."""
    rounded = number.quantize(Decimal("0.0001"), "ROUND_DOWN").normalize()
    return f"{rounded:f}%"


def of_percent(text: str) -> Decimal:
    """Return the number of a percentage such as ``12.5%``."""
    return Decimal(text.removesuffix("%"))


def masters_share(part: Decimal) -> str:
    """Return ``am_share`` for a part of the whole such as 0.1: above 0% and at most 100%."""
    return percent(min(max(part * 100, Decimal("0.0001")), Decimal(100)))


def plain(found: Decimal) -> float:
    """Return a number as a person writes it: 2, not 2.0."""
    return int(found) if found == int(found) else float(found)


def number(text: str, name: str) -> Decimal:
    """Return the number in a value. Raises ConversionError, which names the property."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        found = Decimal("nan")
    if not found.is_finite():
        raise ConversionError(
            f"{name}: {text!r} is not a number", "correct the value; YARN refuses it too"
        )
    return found


def vector(text: str, name: str) -> dict[str, str]:
    """Return the parts of ``[memory=10240,vcores=50%]`` by resource."""
    parts = {}
    for part in text.strip().strip("[]").split(","):
        key, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise ConversionError(
                f"{name}: {text!r} is not a list of resources", "write [memory=10240,vcores=10]"
            )
        parts[resource(key)] = value.strip()
    return parts


def amount(key: str, text: str, name: str, units: Mapping[str, int] = _UNITS) -> int:
    """Return one amount: memory in MB, whatever its unit; others as they are."""
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text)
    if found is None or (found[2] and (key != "memory_mb" or found[2] not in units)):
        raise ConversionError(
            f"{name}: {text!r} is not an amount of {key}",
            "write a whole number, as in memory=10240",
        )
    return int(found[1]) * units[found[2]] // _MEBIBYTE if key == "memory_mb" else int(found[1])


def fair_value(text: str, name: str) -> Amounts | Percentages:
    """Return what FairScheduler reads in a value: amounts, or percentages of the cluster.

    ``50%``, ``40% memory, 60% cpu``, ``vcores=10, memory-mb=1024``, ``vcores=60%`` or
    ``1024 mb, 10 vcores``. A single percentage is for every resource: its key is ``""``.
    """
    if "=" in text:
        parts = vector(text, name)
        if any("%" in part for part in parts.values()):
            return {key: number(part.rstrip("% "), name) for key, part in parts.items()}
        return {key: amount(key, part, name) for key, part in parts.items()}
    if "%" in text:
        named = {
            _PERCENT_OF[key.lower()]: Decimal(part) for part, key in _OLD_PERCENT.findall(text)
        }
        return named or {"": number(text.strip().rstrip("% "), name)}
    found = {resource(key.lower()): int(part) for part, key in _OLD_STYLE.findall(text)}
    if set(found) != {"memory_mb", "vcores"} or min(found.values()) < 0:
        raise ConversionError(
            f"{name}: {text!r} is no amount of memory and vcores", "write 1024 mb, 10 vcores"
        )
    return found


_PERCENT_OF: Final = {"memory": "memory_mb", "cpu": "vcores"}


def of_whole(percentages: Mapping[str, Decimal], whole: Mapping[str, int]) -> Amounts:
    """Return percentages of a cluster as amounts."""
    return {
        key: int(total * percentages.get(key, percentages.get("", Decimal(100))) / 100)
        for key, total in whole.items()
    }
