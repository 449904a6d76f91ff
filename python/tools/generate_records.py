"""Writes python/headway/records.py from the JSON schema of scenario files.

    target/venv/bin/python python/tools/generate_records.py             # writes the file
    target/venv/bin/python python/tools/generate_records.py --check     # exit code 1 if it would change

A test does the second.
"""

from __future__ import annotations

import importlib.util
import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent.parent / "headway" / "records.py"

Schema = dict[str, Any]

HEADER = '''"""The tables of a scenario as classes, to build one in Python.

Made from the JSON schema (``headway schema``) by python/tools/generate_records.py: do not edit. Keys of files with
hyphens have underscores here. What is left out (None) has its default. Quantities are text with a unit, a number times
a unit of :mod:`headway.units`, or a timedelta; ``"$name"`` takes the values of ``name`` in the sweep.

Examples
--------
>>> import headway
>>> from headway import records as r
>>> from headway.units import Gbps, us
>>> scenario = headway.Scenario.build(
...     r.Scenario(
...         name="two-hosts",
...         about="One flow over one link",
...         duration="10ms",
...         topology=r.DumbbellTopology(
...             left=1,
...             right=1,
...             link=r.Link(rate=10 * Gbps, delay=1 * us),
...             bottleneck=r.LinkChange(rate=1 * Gbps),
...             queue=r.DropTailQueue(limit="64KB"),
...         ),
...         hosts={"server": r.Hosts(count=1), "client": r.Hosts(count=1)},
...         traffic=[r.FlowsTraffic(name="bulk", to="client", size="1MB", arrival=r.OnceArrival())],
...         policy=[r.Policy(name="tcp", transport=r.TcpTransport())],
...     )
... )
>>> scenario.policies
['tcp']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from headway._plain import Plain
from headway._record import Amount, Rate, Record, Scalar, Swept, Table, Time, freeze
from headway._record import from_dict as _from_dict
'''


class Class(NamedTuple):
    """A class to write."""

    name: str
    kind: str | None
    about: str
    properties: Schema
    required: list[str]


def camel(text: str) -> str:
    """`host-model` is `HostModel`, `linux-2.6` is `Linux26`."""
    return "".join(part[:1].upper() + part[1:] for part in text.replace(".", "").split("-"))


def reference(schema: Schema) -> str | None:
    """Give the definition that `schema` refers to."""
    target = schema.get("$ref")
    return target.rsplit("/", 1)[1] if isinstance(target, str) else None


def references(schema: Schema) -> list[str]:
    """Give the definitions among the choices of `schema`."""
    found = []
    for one in schema.get("anyOf", []):
        name = reference(one)
        found += references(one) if name is None else [name] if name != "swept" else []
    return found


class Writer:
    """Writes the module."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.definitions: dict[str, Schema] = {name: body for name, body in schema["$defs"].items() if name != "swept"}
        self.classes = {name: self.find(name, body) for name, body in self.definitions.items()}

    def find(self, name: str, body: Schema) -> list[Class]:
        """Give the classes of a definition: one for each kind of it."""
        found = []
        for one in body.get("anyOf", [body]):
            if one.get("type") != "object" or "additionalProperties" not in one:
                continue
            kind = one["properties"].get("kind", {}).get("const")
            noun = name.removesuffix("-kind")
            title = camel(kind) + camel(noun) if kind else camel(name)
            required = [key for key in one.get("required", []) if not (kind and key == "kind")]
            properties = {key: value for key, value in one["properties"].items() if not (kind and key == "kind")}
            found.append(Class(title, kind, one["description"], properties, required))
        return found

    def type_of(self, schema: Schema) -> list[str]:
        """Give the types of a value."""
        name = reference(schema)
        if name == "swept":
            return ["Swept"]
        if name is not None:
            return self.type_of_definition(name)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                types = [found for one in schema[choice] for found in self.type_of(one)]
                return merged(types)
        if "const" in schema:
            return [f"Literal[{schema['const']!r}]"]
        kind = schema.get("type")
        if isinstance(kind, list):
            return ["Scalar"]
        if kind == "array":
            return [f"Sequence[{' | '.join(self.type_of(schema['items']))}]"]
        if kind == "object":
            inner = schema.get("additionalProperties") or {}
            return [f"Mapping[str, {' | '.join(self.type_of(inner))}]"]
        if kind == "string":
            title = schema.get("title", "")
            for start, found in (("a time", "Time"), ("a rate", "Rate"), ("an amount", "Amount")):
                if title.startswith(start):
                    return [found]
            return ["str"]
        simple = {"integer": "int", "number": "float", "boolean": "bool", None: "Scalar"}
        return [simple[kind]]

    def type_of_definition(self, name: str) -> list[str]:
        """Give the types of a value that a definition describes."""
        body = self.definitions[name]
        types = [one.name for one in self.classes[name]]
        if "anyOf" in body:
            types += [found for other in references(body) for found in self.type_of_definition(other)]
            if any("enum" in one for one in body["anyOf"]):
                types += ["Table"]
            types += ["str"]
        return merged(types)

    def nested(self, schema: Schema) -> tuple[str, bool] | None:
        """Give the definition of records in a value, and whether they are a table by name."""
        name = reference(schema)
        if name is not None:
            return None if name == "swept" else (name, False)
        inner = schema.get("additionalProperties")
        if schema.get("type") == "object" and isinstance(inner, dict):
            found = self.nested(inner)
            return (found[0], True) if found else None
        parts = [schema["items"]] if "items" in schema else schema.get("anyOf", [])
        for one in parts:
            found = self.nested(one)
            if found:
                return found
        return None

    def write_class(self, one: Class) -> str:
        """Give a class."""
        lines = ["@dataclass(frozen=True, kw_only=True)", f"class {one.name}(Record):"]
        lines += docstring(self.document(one), 4)
        if one.kind is not None:
            lines += ["", f"    _kind: ClassVar[str | None] = {quoted(one.kind)}"]
        nested = {field_name(key): self.nested(value) for key, value in one.properties.items()}
        nested = {key: value for key, value in nested.items() if value}
        if nested:
            lines += ["", "    _nested: ClassVar[Mapping[str, tuple[str, bool]]] = {"]
            lines += [
                f"        {quoted(key)}: ({quoted(value[0])}, {value[1]})," for key, value in nested.items() if value
            ]
            lines += ["    }"]
        lines += [""]
        sequences = []
        for key, value in one.properties.items():
            types = " | ".join(self.type_of(value))
            if "Sequence[" in types:
                sequences.append(field_name(key))
            ending = types if key in one.required else f"{types} | None = None"
            lines += [f"    {field_name(key)}: {ending}"]
        if not one.properties:
            lines.pop()
        if sequences:
            names = "".join(f"{quoted(name)}, " for name in sequences).rstrip()
            names = names if len(sequences) == 1 else names.rstrip(",")
            lines += ["", "    def __post_init__(self) -> None:", f"        freeze(self, ({names}))"]
        return "\n".join(lines)

    def document(self, one: Class) -> list[str]:
        """Give the paragraphs and entries of a class' docstring."""
        about = sentence(one.about) or "A table without a description."
        lines = [*wrapped(about, 0)]
        if one.properties:
            lines += ["", "Parameters", "----------"]
        for key, value in one.properties.items():
            lines += [f"{field_name(key)} : {plain_type(self.type_of(value))}"]
            text = sentence(value.get("description", "")) or "No description."
            if "default" in value:
                text += f" Default: ``{json.dumps(value['default'], ensure_ascii=False)}``."
            lines += wrapped(text, 4)
        return lines

    def write(self) -> str:
        """Give the module."""
        top = Class("Scenario", None, self.schema["description"], self.schema["properties"], self.schema["required"])
        parts = []
        # forward references are text, so any order will do
        parts += [self.write_class(one) for name in self.definitions for one in self.classes[name]]
        parts += [self.write_class(top)]
        lines = ["_DEFINITIONS: Mapping[str, Mapping[str | None, type[Record]]] = {"]
        for name, body in self.definitions.items():
            entries = [(one.kind, one.name) for one in self.classes[name]]
            for other in references(body):
                entries += [(kind.kind, kind.name) for kind in self.classes[other]]
            entries += [
                (None, one.name) for one in self.classes[name] if one.kind and not self.kind_is_required(body, one.kind)
            ]
            inner = ", ".join(f"{quoted(kind) if kind else None}: {title}" for kind, title in entries)
            lines += [f"    {quoted(name)}: {{{inner}}},"]
        lines += ['    "": {None: Scenario},', "}"]
        parts += ["\n".join(lines)]
        parts += [FUNCTION.strip()]
        names = [*(one.name for classes in self.classes.values() for one in classes), "Scenario"]
        every = "\n".join(["__all__ = [", *[f"    {quoted(name)}," for name in sorted(names)], "]"])
        parts.insert(0, f"{HEADER.rstrip()}\n\n{every}")
        return "\n\n\n".join(parts) + "\n"

    def kind_is_required(self, body: Schema, kind: str) -> bool:
        """Tell whether a table of this kind must say so."""
        for one in body.get("anyOf", [body]):
            if one.get("properties", {}).get("kind", {}).get("const") == kind:
                return "kind" in one.get("required", [])
        return True


FUNCTION = '''
def read(table: dict[str, Plain]) -> Scenario:
    """Give the record of a whole scenario.

    Parameters
    ----------
    table : dict
        As TOML has it.

    Returns
    -------
    Scenario
        With records in place of tables.
    """
    record = _from_dict(_DEFINITIONS, "", table)
    assert isinstance(record, Scenario)
    return record
'''


def merged(types: list[str]) -> list[str]:
    """Give each type once, words in one Literal."""
    words = [found[8:-1] for found in types if found.startswith("Literal[")]
    others = [found for found in dict.fromkeys(types) if not found.startswith("Literal[")]
    if "Swept" in others and "str" in others:
        others.remove("Swept")
    literal = [f"Literal[{', '.join(dict.fromkeys(words))}]".replace("'", '"')] if words else []
    return literal + others


def plain_type(types: list[str]) -> str:
    """Give types for people."""
    return " | ".join(types)


def sentence(text: str) -> str:
    """Give `text` in one line, a full stop behind it, with code marked as docstrings mark it."""
    text = " ".join(text.split()).replace("`", "``").replace("\\\\", "\\\\\\\\")
    return text if not text or text.endswith((".", ")", "?")) else text + "."


def wrapped(text: str, indent: int) -> list[str]:
    """Give `text` in lines."""
    return textwrap.wrap(text, 100 - indent, initial_indent=" " * indent, subsequent_indent=" " * indent)


def docstring(lines: list[str], indent: int) -> list[str]:
    """Give a docstring; its first line is a sentence of its own."""
    first, _, rest = (
        " ".join(line for line in lines[: lines.index("")] if line).partition(". ")
        if "" in lines
        else (
            " ".join(lines),
            "",
            "",
        )
    )
    body = lines[lines.index("") :] if "" in lines else []
    start = first if first.endswith((".", ")")) else first + "."
    all_lines = [f'"""{start}' if start.endswith(".") else f'"""{start}.']
    if rest:
        all_lines += ["", *wrapped(rest, 0)]
    all_lines += body
    if len(all_lines) == 1:
        all_lines[0] += '"""'
    else:
        all_lines += ['"""']
    return [" " * indent + line if line else "" for line in all_lines]


def field_name(key: str) -> str:
    """Give the field of a key: `host-queue` is `host_queue`, `from` is `from_`."""
    name = key.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def schema() -> Schema:
    """Give the schema. The package itself may lack the very file that is to be written."""
    module = next(FILE.parent.glob("_native*.so"), None)
    if module is None:
        raise SystemExit("the native module is not built: maturin develop")
    spec = importlib.util.spec_from_file_location("headway._native", module)
    assert spec is not None
    assert spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    found: Schema = json.loads(native.schema())
    return found


def quoted(text: str) -> str:
    """Give `text` as Python writes it, with the quotes that ruff likes."""
    return json.dumps(text, ensure_ascii=False)


def main() -> int:
    """Write or check the file."""
    text = Writer(schema()).write()
    if "--check" in sys.argv[1:]:
        same = FILE.read_text(encoding="utf-8") == text
        if not same:
            print(
                "python/headway/records.py is not of this schema; run python/tools/generate_records.py",
                file=sys.stderr,
            )
        return 0 if same else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
