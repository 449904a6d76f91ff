"""The stages before Sphinx: links, tables of contents, and the pages that are made."""

import json
import os
import subprocess
from pathlib import Path

import commands
import outputs
import pytest
import schema
import stage

ROOT = Path(__file__).resolve().parents[2]


def test_links_lead_to_where_pages_are_staged() -> None:
    text = (
        "[a](lanes.md#judge-deadline) [b](../README.md) [c](../scenarios/example-incast.toml) [d](../Makefile) "
        "`[e](no.md)` [`f`](scenario-file/README.md) [g](https://example.org/x.md) [h](#here)"
    )
    assert stage.rewritten(text, "docs/pacing.md", "pacing.md", ROOT) == (
        "[a](lanes.md#judge-deadline) [b](overview.md) [c](bundled/example-incast.md) d "
        "`[e](no.md)` [`f`](scenario-file/README.md) [g](https://example.org/x.md) [h](#here)"
    )


def test_links_of_pages_above_docs_lead_into_the_site() -> None:
    text = "[a](docs/README.md) [b](docs/lanes.md) [c](LICENSE-MIT) [d](CONTRIBUTING.md)"
    assert (
        stage.rewritten(text, "README.md", "overview.md", ROOT) == "[a](index.md) [b](lanes.md) c [d](contributing.md)"
    )


def test_fences_stay_as_they_are() -> None:
    text = "```toml\n[a](no.md)\n```\n~~~~\n```\n[b](no.md)\n~~~~\n[c](pacing.md)\n"
    assert stage.rewritten(text, "docs/lanes.md", "lanes.md", ROOT) == text


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match=r"docs/lanes\.md links to no-page\.md"):
        stage.rewritten("[a](no-page.md)", "docs/lanes.md", "lanes.md", ROOT)


def test_the_table_of_contents_is_that_of_the_index() -> None:
    text = (
        "# Index\n[x](speed.md)\n\n## All pages\n\n### One\n[a](lanes.md) [b](pacing.md#x) [again](lanes.md)\n"
        "### Reference\n[c](scenario-file/README.md) [inside](scenario-file/claims.md) [d](lanes.md)\n### Python\n"
    )
    assert stage.captions(text, ROOT) == [
        ("One", ["lanes", "pacing"]),
        ("Reference", ["scenario-file/README", "made pages of Reference"]),
        ("Python", ["made pages of Python"]),
    ]


@pytest.mark.parametrize("text", ["# Index\n", "## All pages\n", "## All pages\n\n### Reference\n"])
def test_an_index_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"docs/README\.md has no"):
        stage.captions("\n" + text, ROOT)


def test_an_index_of_a_folder_lists_its_pages() -> None:
    text = "[a](README.md) [b](queue.md) [c](../lanes.md) [d](judge.md)"
    assert stage.contents(text, "docs/adding/README.md", ROOT).split() == [
        "```{toctree}", ":hidden:", ":maxdepth:", "1", "queue", "judge", "```",
    ]  # fmt: skip
    assert stage.contents(text, "docs/lanes.md", ROOT) == ""


@pytest.fixture(scope="module")
def printed(headway: Path) -> dict:
    return json.loads(subprocess.run([headway, "schema"], capture_output=True, check=True, timeout=60).stdout)


def keys(node: object) -> set[str]:
    """All keys of a schema, wherever they stand."""
    if isinstance(node, list):
        return set().union(*map(keys, node))
    if not isinstance(node, dict):
        return set()
    found = set(node["properties"]) if isinstance(node.get("properties"), dict) else set()
    return found.union(*(keys(value) for value in node.values()))


def test_every_key_of_the_schema_is_in_the_reference(printed: dict) -> None:
    text = "".join(schema.pages(printed).values())
    missing = {key for key in keys(printed) if f"| `{key}` |" not in text and key != "kind"}
    assert not missing


def test_a_key_has_type_default_range_and_meaning() -> None:
    value = {
        "anyOf": [{"type": "string", "pattern": "…", "title": 'a time like "25us"'}, {"$ref": "#/$defs/swept"}],
        "description": "What each packet takes. (0s to 1s)",
        "default": "0s",
    }
    row = schema.table(
        {"cpu": value, "n": {"type": "integer", "minimum": 1, "maximum": 32, "description": "A | b <c>."}}, ["n"]
    )
    assert row.splitlines()[2:] == [
        '| `cpu` | text: a time like `"25us"` ↻ | `"0s"` | 0s to 1s | What each packet takes. |',
        "| `n` | integer | **required** | 1 to 32 | A \\| b \\<c\\>. |",
    ]


def test_a_shape_that_the_reference_does_not_know_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not know"):
        schema.table({"x": {"not": {"type": "string"}}}, [])


def test_every_command_has_its_help(headway: Path) -> None:
    pages = commands.pages(headway)
    assert {"index.md", "run.md", "check.md", "schema.md", "trace.md"} <= set(pages)
    assert "help.md" not in pages
    assert "# headway lossless\n" in pages["lossless.md"]
    assert "## headway lossless plan\n" in pages["lossless.md"]
    assert "--repeats <N>" in pages["run.md"]


def test_only_commands_are_taken_from_a_help_text() -> None:
    text = "Does things\n\nUsage: x\n\n"
    text += "Commands:\n  run   Run it\n        and more\n  dry-run  Not\n  help  Print\n\nOptions:\n  -h  Print\n"
    assert commands.listed(text) == ["run", "dry-run"]


def test_every_bundled_scenario_has_a_page(headway: Path) -> None:
    pages = stage.scenario_pages(ROOT, headway)
    assert {f"{file.stem}.md" for file in (ROOT / "scenarios").glob("*.toml")} == set(pages) - {"index.md"}
    text = pages["lanes-l7-queue-buildup.md"]
    assert "\n\nSource: thesis §6.3" in text
    assert (ROOT / "scenarios/lanes-l7-queue-buildup.toml").read_text(encoding="utf-8").rstrip() in text
    assert "Source:" not in pages["example-incast.md"].partition("~~~~toml")[0]


def test_an_old_command_is_told_from_a_new_one(tmp_path: Path, headway: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/brand-new.toml").write_text('name = "brand-new"\n', encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"does not list brand-new: build it again"):
        stage.scenario_pages(tmp_path, headway)


def a_notebook(folder: Path, source: str) -> Path:
    path = folder / "one.ipynb"
    cells = [{"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": source}]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    os.utime(path, (0, 0))  # older than any run of it
    return path


def test_notebooks_are_run_once_until_they_change(tmp_path: Path) -> None:
    for name in outputs.NEEDED:
        pytest.importorskip(name)
    (tmp_path / "in").mkdir()
    kept = tmp_path / "kept"
    count = (
        "import sys\nwith open('../runs', 'a+') as file:\n    file.write('x')\n    print(file.tell())\n"
        "print('not shown', file=sys.stderr)"
    )
    for source, runs in [(count, 1), (count, 1), (count + "  # another", 2)]:
        found = outputs.with_outputs(a_notebook(tmp_path / "in", source), kept)
        (output,) = found["cells"][0]["outputs"]
        assert "".join(output["text"]) == f"{runs}\n"
    assert sorted(file.name for file in kept.iterdir()) == ["one.ipynb"]


def test_without_the_package_notebooks_have_no_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outputs, "NEEDED", ("no_such_package",))
    found = outputs.with_outputs(a_notebook(tmp_path, "print(1)"), tmp_path / "kept")
    assert found["cells"][0]["outputs"] == []
    assert capsys.readouterr().out == "one.ipynb has no outputs, because no_such_package is not installed here\n"


def test_formulae_become_mathml_and_wrong_ones_are_told() -> None:
    mathml = pytest.importorskip("mathml")
    from sphinx.errors import ExtensionError

    assert mathml.mathml(r"\frac{W}{d}", "inline").startswith("<math")
    with pytest.raises(ExtensionError, match="not a formula"):
        mathml.mathml(r"\frac{W}{", "block")
