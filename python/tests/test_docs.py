from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import headway

MODULES = [module.name for module in pkgutil.iter_modules(headway.__path__) if not module.name.startswith("__")]


@pytest.mark.parametrize("name", [*MODULES, ""])
def test_examples_in_docstrings_are_right(name: str) -> None:
    module = importlib.import_module(f"headway.{name}".rstrip("."))
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_every_public_thing_is_in_the_page(root: Path) -> None:
    page = (root / "docs" / "python.md").read_text()
    missing = [
        name
        for name in headway.__all__
        if not name.startswith("__") and f"`{name}" not in page and f"headway.{name}" not in page
    ]
    assert not missing


def test_examples_in_the_page_run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (root / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 10
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), scope)
