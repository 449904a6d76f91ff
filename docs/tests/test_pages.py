"""The pages as they are written: tables and lists that are whole, sections that each model's page must have."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# docs/fidelity.md is written by `headway fidelity`
PAGES = [
    page.relative_to(ROOT).as_posix()
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if page.name != "fidelity.md"
]
SECTIONS = ["Sources", "Equations", "Left out", "Validation"]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside fenced blocks, with their numbers from 1."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            if mark and mark[1].startswith(fence):
                fence = None
        else:
            yield number, line


def row(line: str) -> bool:
    return line.lstrip().startswith("|")


def ruler(line: str) -> bool:
    """Whether the line is the one between a table's head and its body."""
    return re.fullmatch(r"\s*\|(\s*:?-+:?\s*\|)+\s*", line) is not None


def faults(text: str) -> list[str]:
    """What two merged versions of a page leave behind, line by line."""
    lines = list(prose(text))
    found: list[str] = []
    body: set[str] = set()  # rows of the table so far
    for at, (number, line) in enumerate(lines):
        before = lines[at - 1] if at else (0, "")
        after = lines[at + 1][1] if at + 1 < len(lines) else ""
        if not line.strip() and not before[1].strip() and before[0] == number - 1 and number > 1:
            found.append(f"{number}: a second empty line")
        if not row(line):
            body = set()
        elif not row(before[1]):
            if not ruler(after):
                found.append(f"{number}: a row of no table: {line}")
        elif line in body:
            found.append(f"{number}: a row that is there twice: {line}")
        # a row of empty first cells belongs to the one above, and may be like another
        if row(line) and not re.match(r"\s*\|\s*\|", line):
            body.add(line)
    items = Counter(line for _, line in lines if re.match(r"\s*[*-] ", line) and len(line) > 60)
    return found + [f"an item that is there {times} times: {item}" for item, times in items.items() if times > 1]


@pytest.mark.parametrize("page", PAGES)
def test_tables_and_lists_are_whole(page: str) -> None:
    assert not faults((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n", "5: a row of no table: | 3 | 4 |"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |\n", "4: a row that is there twice: | 1 | 2 |"),
        ("one\n\n\ntwo\n", "3: a second empty line"),
        (f"* {'x' * 70}\n* two\n* {'x' * 70}\n", f"an item that is there 2 times: * {'x' * 70}"),
    ],
)
def test_what_a_merge_leaves_behind_is_found(text: str, fault: str) -> None:
    assert faults(text) == [fault]
    assert faults("~~~~text\n" + text + "~~~~\n") == []


def test_the_readme_shows_a_report_and_how_it_is_made() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (name,) = re.findall(r"!\[[^\]]{40,}\]\(([^)]+)\)", text)
    picture = (ROOT / name).read_bytes()
    assert picture.startswith(b"\x89PNG\r\n")
    assert len(picture) < 300_000
    assert "`make pictures`" in text
    assert re.search(
        r"^pictures:.*\n(\t.*\n)*\t.*docs/pictures/make\.py", (ROOT / "Makefile").read_text(), re.MULTILINE
    )


def test_each_dependency_has_one_line() -> None:
    text = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
    assert len(names) > 20
    assert [name for name, times in Counter(names).items() if times > 1] == []


@pytest.mark.parametrize("page", [page for page in PAGES if re.fullmatch(r"docs/models/(?!README)[^/]+", page)])
def test_a_model_has_its_sections(page: str) -> None:
    lines = [line for _, line in prose((ROOT / page).read_text(encoding="utf-8"))]
    titles = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert [title for title in SECTIONS if title not in titles] == []
    for title in SECTIONS:
        start = lines.index(f"## {title}") + 1
        below = next((at for at in range(start, len(lines)) if lines[at].startswith("## ")), len(lines))
        assert any(line.strip() for line in lines[start:below]), f"nothing under {title}"
