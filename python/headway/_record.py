"""What all records of scenarios have in common; the records themselves are in :mod:`headway.records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import ClassVar, TypeVar

from headway._plain import HasTable, Plain, plain
from headway.units import Quantity

Time = str | timedelta | Quantity
"""A time: text with a unit (``"25us"``), a number times a unit, or a timedelta."""

Rate = str | Quantity
"""A rate: text with a unit (``"10Gbps"``) or a number times a unit."""

Amount = str | Quantity
"""Data or packets: text with a unit (``"64KB"``, ``"100pkt"``) or a number times a unit."""

Swept = str
"""``"$name"``: the value of ``name`` in the sweep."""

Scalar = bool | int | float | str
"""A single value."""

Table = Mapping[str, object]
"""A table by its keys, for one whose ``kind`` is swept."""

R = TypeVar("R", bound="Record")


class Record(HasTable):
    """A table of a scenario. Keys that are None are left out of it, and have their defaults."""

    __slots__ = ()

    _kind: ClassVar[str | None] = None
    """The value of the key ``kind``, where a record has one."""

    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {}
    """Fields with records in them: the definition's name, and whether they are tables of records by name."""

    def to_dict(self) -> dict[str, Plain]:
        """Give the table as a file has it.

        Returns
        -------
        dict
            By key; text, numbers, True and False, lists and dictionaries.
        """
        table: dict[str, Plain] = {} if self._kind is None else {"kind": self._kind}
        for field in fields(self):  # type: ignore[arg-type] # every record is a dataclass
            value = getattr(self, field.name)
            if value is not None:
                table[_key(field.name)] = plain(value)
        return table


def from_dict(definitions: Mapping[str, Mapping[str | None, type[Record]]], definition: str, value: Plain) -> object:
    """Give the record of a table, or the value itself if it is none or its kind is swept."""
    if isinstance(value, list):
        return [from_dict(definitions, definition, item) for item in value]
    if not isinstance(value, dict):
        return value
    alternatives = definitions[definition]
    kind = value.get("kind")
    record = alternatives.get(kind) if isinstance(kind, str) else None
    if record is None:
        if isinstance(kind, str) and kind.startswith("$"):
            return value
        record = alternatives.get(None)
    if record is None:
        raise ValueError(f"a {definition} has no kind {kind!r}")
    known = {_key(field.name): field.name for field in fields(record)}  # type: ignore[arg-type]
    arguments: dict[str, object] = {}
    for key, item in value.items():
        if key == "kind" and record._kind is not None:
            continue
        if key not in known:
            raise ValueError(f"a {definition} has no key {key!r}")
        nested = record._nested.get(known[key])
        if nested is None:
            arguments[known[key]] = item
        elif nested[1] and isinstance(item, dict):
            arguments[known[key]] = {name: from_dict(definitions, nested[0], inner) for name, inner in item.items()}
        else:
            arguments[known[key]] = from_dict(definitions, nested[0], item)
    return record(**arguments)


def freeze(record: Record, names: Sequence[str]) -> None:
    """Make tuples of lists, so that two records with the same values are equal."""
    for name in names:
        value = getattr(record, name)
        if isinstance(value, list):
            object.__setattr__(record, name, tuple(value))


def _key(field: str) -> str:
    return field.rstrip("_").replace("_", "-")
