"""Reference pages of the scenario file, made from the JSON schema that `headway schema` prints.

A page for each definition of the schema (`link`, `queue`, `transport`, …), and one for the top level. Each has tables
with every key: type with its unit, default, range, meaning.
"""

import json
import re
from collections.abc import Iterator

Schema = dict

# A range stands at the end of a description: "Memory of each kernel. (24MB to 4GB)"
RANGE = re.compile(r"\s*\(((?:more than|at least|at most|up to) [^()]+|[^()]+ to [^()]+)\)\s*$")

SWEPT = "#/$defs/swept"


def pages(schema: Schema) -> dict[str, str]:
    """Return the pages by the names of their files, `index.md` first."""
    definitions = {name: one for name, one in schema["$defs"].items() if name != "swept"}
    users: dict[str, set[str]] = {name: set() for name in definitions}
    for owner, one in [("", schema | {"$defs": {}}), *definitions.items()]:
        for target in references(one):
            users.setdefault(target, set()).add(owner)
    found = {"index.md": top_level(schema, list(definitions))}
    for name, definition in definitions.items():
        found[f"{name}.md"] = page(name, definition, sorted(users[name]))
    return found


def references(node: object) -> Iterator[str]:
    """The names of the definitions that a part of the schema refers to."""
    if isinstance(node, dict):
        if "$ref" in node and node["$ref"] != SWEPT:
            yield name_of(node["$ref"])
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def name_of(reference: str) -> str:
    prefix = "#/$defs/"
    if not reference.startswith(prefix):
        raise ValueError(f"a reference out of the schema: {reference}")
    return reference.removeprefix(prefix)


def top_level(schema: Schema, names: list[str]) -> str:
    """The page of the top level with links to all others."""
    text = [
        "# Every key",
        "This reference is made from the schema that `headway schema` prints, so it has every key that is read. "
        "[The scenario file](../../scenario-file/README.md) explains the keys section by section, with examples.",
        'A key whose type ends with ↻ may also be `"$name"`, the value of `name` in `[sweep]`. '
        "How times, rates and sizes are written is in [values](../../scenario-file/values.md).",
        "## Top level",
        table(schema["properties"], schema["required"]),
    ]
    listed = ", ".join(f"[{name}]({name}.md)" for name in sorted(names))
    text += ["## All parts", listed]
    text += ["```{toctree}\n:hidden:\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```"]
    return "\n\n".join(text) + "\n"


def page(name: str, definition: Schema, users: list[str]) -> str:
    """The page of one definition."""
    text = [f"# `{name}`"]
    used = ", ".join(f"[{user}]({user}.md)" if user else "[the top level](index.md)" for user in users)
    if used:
        text.append(f"A part of {used}.")
    kinds = [one for one in definition.get("anyOf", [definition]) if "additionalProperties" in one]
    words = [
        one for one in definition.get("anyOf", []) if "enum" in one or ("const" in one and "properties" not in one)
    ]
    if len(kinds) == 1:
        text += [prose(kinds[0].get("description", "")), table(kinds[0]["properties"], kinds[0]["required"])]
    else:
        text += alternatives(kinds)
    short = sorted({word for one in words for word in one.get("enum", [one.get("const")])})
    if short:
        text.append(
            "Short forms: "
            + ", ".join(f'`"{word}"`' for word in short)
            + " alone stands for the kind with its defaults."
        )
    return "\n\n".join(part for part in text if part) + "\n"


def alternatives(kinds: list[Schema]) -> list[str]:
    """Sections of the kinds of one thing, behind a section of the keys that all of them have alike."""
    first = kinds[0]["properties"]
    alike = {
        key
        for key, value in first.items()
        if all(
            one["properties"].get(key) == value and (key in one["required"]) == (key in kinds[0]["required"])
            for one in kinds
        )
    }
    text = []
    if alike:
        common = {key: value for key, value in first.items() if key in alike}
        text += ["## Keys of all kinds", table(common, kinds[0]["required"])]
    for one in kinds:
        kind = one["properties"].get("kind", {}).get("const")
        own = {key: value for key, value in one["properties"].items() if key not in alike and key != "kind"}
        heading = (
            f'## `kind = "{kind}"`' if kind else "## " + prose(one.get("description", "Without a kind")).rstrip(".")
        )
        text += [heading, prose(one.get("description", "")) if kind else ""]
        text.append(table(own, one["required"]) if own else "No further keys.")
    return text


def table(properties: dict[str, Schema], required: list[str]) -> str:
    """All keys of one table of the scenario file."""
    rows = ["| key | type | default | range | meaning |", "|---|---|---|---|---|"]
    for key, value in properties.items():
        meaning, limits = split_range(value.get("description", ""))
        words = meanings_of_words(value)
        without = "**required**" if key in required else "–"
        default = f"`{toml(value['default'])}`" if "default" in value else without
        limits = limits or bounds(value)
        rows.append(
            f"| `{key}` | {cell(kind_of(value))} | {cell(default)} | {cell(limits)} | {cell(prose(meaning) + words)} |"
        )
    return "\n".join(rows)


def split_range(description: str) -> tuple[str, str]:
    found = RANGE.search(description)
    return (description[: found.start()], found.group(1)) if found else (description, "")


def bounds(value: Schema) -> str:
    """The bounds of a number, where the description does not have them."""
    for one in value.get("anyOf", [value]):
        least, more, most = one.get("minimum"), one.get("exclusiveMinimum"), one.get("maximum")
        if more is not None:
            return f"more than {number(more)}" + (f" to {number(most)}" if most is not None else "")
        if least is not None:
            return f"{number(least)} to {number(most)}" if most is not None else f"at least {number(least)}"
        if one.get("type") == "array" and ("minItems" in one or one.get("maxItems", 100_000) < 100_000):
            least, most = one.get("minItems", 0), one["maxItems"]
            return f"{least} elements" if least == most else f"{least} to {most} elements"
    return ""


def number(value: float) -> str:
    return f"{value:,}".replace(",", "\N{THIN SPACE}").removesuffix(".0")


def kind_of(value: Schema) -> str:
    """The type of a value in words, with the unit in an example, and ↻ where a sweep may give it."""
    options, swept = flat(value)
    names: list[str] = []
    for one in options:
        name = type_of(one)
        if name not in names:
            names.append(name)
    return " or ".join(names) + (" ↻" if swept else "")


def flat(value: Schema) -> tuple[list[Schema], bool]:
    """The alternatives of a value without those of a sweep, and whether there were any."""
    if value.get("$ref") == SWEPT:
        return [], True
    if "anyOf" in value:
        found, swept = [], False
        for one in value["anyOf"]:
            options, here = flat(one)
            found += options
            swept |= here
        return found, swept
    return [value], False


def type_of(value: Schema) -> str:
    if "$ref" in value:
        name = name_of(value["$ref"])
        return f"[{name}]({name}.md)"
    if "oneOf" in value:
        return "word"
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "title" in value:
        return "text: " + re.sub(r'"([^"]*)"', r'`"\1"`', value["title"])
    names = value.get("type")
    if isinstance(names, list):
        return " or ".join(names)
    if names == "array":
        return "list of " + kind_of(value["items"]).replace(" ↻", "")
    if names == "object":
        inner = value.get("additionalProperties")
        return f"table of NAME = {kind_of(inner)}" if isinstance(inner, dict) else "table"
    if names == "string":
        pattern = value.get("pattern", "")
        if "%" in pattern:
            return '`"0.1%"`'
        return "name" if pattern.startswith("^[a-z0-9]") else "text"
    if names in ("integer", "number", "boolean"):
        return names
    raise ValueError(f"a shape of the schema that the reference does not know: {json.dumps(value)[:300]}")


def meanings_of_words(value: Schema) -> str:
    """The words that a key takes, each with its meaning."""
    options, _ = flat(value)
    nested = [inner for one in options if one.get("type") == "array" for inner in flat(one["items"])[0]]
    found = [word for one in options + nested for word in one.get("oneOf", [])]
    return "".join(f"<br>`{word['const']}`: {prose(word.get('description', ''))}" for word in found)


def toml(value: object) -> str:
    """A default as it is written in a scenario."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def prose(text: str) -> str:
    """A description as Markdown: nothing in it but code is markup."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else re.sub(r"([\\<>*_\[\]$#])", r"\\\1", part) for part in parts)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ") or "–"
