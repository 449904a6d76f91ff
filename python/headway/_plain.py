"""Python values as scenarios write them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import timedelta
from numbers import Integral, Real

from headway import _native
from headway.units import Quantity

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
"""A value that JSON has."""


class HasTable:
    """An object that can say what its table is."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Plain]:
        """Give the table that a file has in its place."""
        raise NotImplementedError


def plain(value: object) -> Plain:
    """Give `value` as JSON has it; entries of mappings that are None are left out."""
    if isinstance(value, HasTable):
        return value.to_dict()
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, timedelta):
        return _time(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"scenarios have no {number}")
        return number
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | set | frozenset):
        return [plain(item) for item in value]
    raise TypeError(f"a scenario cannot hold a {type(value).__name__}: {value!r}")


def whole(text: str) -> str:
    """Give `text`; :class:`ValueError` if it has half a character (a lone surrogate), which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"text has half a character at {error.start}: {text[:80]!r}") from None
    return text


def inline(value: object) -> str:
    """Give `value` as TOML writes it in a line."""
    as_plain = plain(value)
    if as_plain is None:
        raise TypeError("a scenario cannot hold None; leave the key out")
    return _native.inline(json.dumps(as_plain))


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys are text, unlike {key!r}")
    return whole(key)


def _time(span: timedelta) -> str:
    if span < timedelta(0):
        raise ValueError(f"a time is not negative, unlike {span}")
    return f"{span // timedelta(microseconds=1)}us"
