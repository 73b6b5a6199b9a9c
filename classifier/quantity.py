"""Kubernetes quantities in exact integers.

``parse`` gives integer nano-units: the finest step the API server keeps (it rounds what is finer up, away from zero),
so nothing that is stored there is lost here. The grammar is the scanner of apimachinery
``pkg/api/resource/quantity.go``, not the regular expression of its documentation: ``.5``, ``1.``, ``+1``, ``.`` (which
is 0) and surrounding spaces are accepted there, ``1e3Ki``, ``K``, ``NaN``, ``1_000`` and digits outside ASCII are not.

Kueue counts cpu in milli-units and all else in whole units, both rounded up and saturating at int64 (Kueue:
``pkg/resources/requests.go``); kube-scheduler rounds the same way. ``amount`` is that count.
"""

import re
from functools import lru_cache
from typing import Final

from classifier.objects.meta import Quantity

NANO: Final = 10**9
MAX_INT64: Final = 2**63 - 1

#: Longer texts are refused. The API server would read them, but no quantity needs more digits than a page of text.
MAX_LENGTH: Final = 1024
#: No exponent beyond it changes what saturates or rounds up anyway; keeps ``1e999999999`` from costing a gigabyte.
_MAX_EXPONENT: Final = 4 * MAX_LENGTH

_PARTS: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*)([+-]?[0-9]*)", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {0: ""} | {exponent: suffix for suffix, exponent in _BINARY.items()}


class QuantityError(ValueError):
    """The API server would refuse this quantity."""


def parse(quantity: Quantity) -> int:
    """Nano-units of a quantity as JSON carries it: text, or a bare number. Raises QuantityError naming it."""
    return _parse(_text(quantity))[0]


def milli(quantity: Quantity) -> int:
    """Milli-units, rounded up, saturating at int64."""
    return _scaled(parse(quantity), NANO // 1000)


def units(quantity: Quantity) -> int:
    """Whole units, rounded up, saturating at int64."""
    return _scaled(parse(quantity), NANO)


def amount(resource: str, quantity: Quantity) -> int:
    """What kube-scheduler and Kueue count of ``resource``: milli-units of cpu, whole units of anything else."""
    # Names are as long as their author likes, and but for cpu's all are counted alike: none is kept.
    return _amount("cpu" if resource == "cpu" else "", _text(quantity))


def amount_of(resource: str, nanos: int) -> int:
    """:func:`amount` of nano-units, so that sums are rounded once, as the scheduler rounds them."""
    return _scaled(nanos, NANO // 1000 if resource == "cpu" else NANO)


def canonical(quantity: Quantity) -> str:
    """apimachinery's own form: ``1500m`` for 1.5, ``1Gi`` for 1024Mi, ``1e3`` for 1000e0.

    What is stored is the text as it came, where that is short, and a list of resources is rounded up to thousandths.
    """
    nanos, style = _parse(_text(quantity))
    return _render(nanos, style)


def format_amount(resource: str, value: int) -> str:
    """Canonical text of an :func:`amount`: bytes in powers of 1024, the rest in powers of 1000."""
    if resource == "cpu":
        return _render(value * (NANO // 1000), "decimal")
    if resource in ("memory", "storage", "ephemeral-storage") or resource.startswith("hugepages-"):
        return _render(value * NANO, "binary")
    return _render(value * NANO, "decimal")


def is_extended(resource: str) -> bool:
    """A resource of a device plugin: never overcommitted, whole only (Kubernetes: ``IsExtendedResourceName``)."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


def _text(quantity: Quantity) -> str:
    if isinstance(quantity, str):
        text = quantity if len(quantity) <= MAX_LENGTH else quantity.strip(" ")
        if len(text) > MAX_LENGTH:
            raise QuantityError(f"{text[:32]!r} is not a quantity such as 500m, 16 or 860Gi")
        return text
    if isinstance(quantity, bool) or not isinstance(quantity, int | float):
        raise QuantityError(f"{quantity!r} is not a quantity")
    if isinstance(quantity, int) and abs(quantity) >= 10**MAX_LENGTH:
        raise QuantityError("a number of more than 1024 digits is not a quantity")
    return repr(quantity)


@lru_cache(maxsize=8192)
def _amount(resource: str, text: str) -> int:
    return amount_of(resource, _parse(text)[0])


@lru_cache(maxsize=8192)
def _parse(text: str) -> tuple[int, str]:
    """Nano-units and style (decimal, binary, exponent)."""
    text = text.strip(" ")
    match = _PARTS.fullmatch(text) if text else None
    if match is None:
        raise QuantityError(f"{text[:32]!r} is not a quantity such as 500m, 16 or 860Gi")
    sign, whole, fraction, letters, tail = match.groups()
    digits = int((whole + (fraction or "")) or "0")
    suffix = letters + tail
    places = len(fraction or "")
    if suffix in _BINARY:
        power, exponent, style = _BINARY[suffix], 0, "binary"
        nanos = min(_shift(digits << power, 9 - places), MAX_INT64 * NANO)
    else:
        power, (exponent, style) = 0, _exponent(suffix, text)
        nanos = _shift(digits, 9 + exponent - places)
    if not whole and not fraction and (power > 40 or exponent < -9):
        # Without any digit apimachinery reads 0, save where the suffix sends it down its slow path.
        raise QuantityError(f"{text[:32]!r} is not a quantity: it has no digits")
    return (-nanos if sign == "-" else nanos), style


def _exponent(suffix: str, text: str) -> tuple[int, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal"
    if suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]+", suffix[1:], re.ASCII):
        exponent = int(suffix[1:])
        if -(2**63) <= exponent < 2**63:
            wrapped = (exponent + 2**31) % 2**32 - 2**31  # apimachinery keeps an int32
            return max(-_MAX_EXPONENT, min(_MAX_EXPONENT, wrapped)), "exponent"
    raise QuantityError(f"{text[:32]!r} is not a quantity: {suffix[:16]!r} is no suffix of one")


def _shift(digits: int, exponent: int) -> int:
    """digits x 10^exponent, rounded up."""
    power: int = 10 ** abs(exponent)
    return digits * power if exponent >= 0 else -(-digits // power)


def _scaled(nanos: int, step: int) -> int:
    return max(-MAX_INT64 - 1, min(MAX_INT64, -(-nanos // step)))


def _render(nanos: int, style: str) -> str:
    if nanos == 0:
        return "0"
    if style == "binary" and nanos % NANO == 0 and abs(nanos) >= 1024 * NANO:
        value, power = nanos // NANO, 0
        while value % 1024 == 0 and power < 60:
            value, power = value // 1024, power + 10
        return f"{value}{_BINARY_SUFFIX[power]}"
    value, exponent = nanos, -9
    while value % 1000 == 0 and (exponent < 18 or style == "exponent"):
        value, exponent = value // 1000, exponent + 3
    if style == "exponent":
        return f"{value}e{exponent}" if exponent else str(value)
    return f"{value}{_DECIMAL_SUFFIX[exponent]}"
