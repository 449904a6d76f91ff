"""Stages the sources of the site: the pages of `docs/` as they are, and the pages that are made.

Pages of `docs/` are plain Markdown that a host of repositories shows, too. So they know nothing of the site:

* links that leave `docs/` lead to staged copies (README, CONTRIBUTING, CHANGELOG, bundled scenarios) or become text;
* the table of contents is what the indices link to, in their order: captions and pages of `docs/README.md` from
  "All pages" on, and the pages of each folder in its `README.md`.
"""

import json
import posixpath
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import commands
import outputs
import python_api
import schema

INDEX = "docs/README.md"
NOTEBOOKS = "python/notebooks/"
ABOVE = {"README.md": "overview.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
# Folders of docs that are no pages: the site's own code, its tests, manual pages in roff.
NO_PAGES = {"site", "tests", "man"}
# Made pages stand in the table of contents behind the pages of these captions, as far as they were made.
MADE = {
    "Reference": ["reference/commands/index", "reference/keys/index", "bundled/index"],
    "Python": ["notebooks/index", "reference/python/index"],
}
MADE_MARK = "made pages of "

# Code spans first, so that no link is found in them. A link's text may have code spans, brackets of pictures not.
LINK = re.compile(
    r"(?P<code>(`+).+?\2)|(?P<picture>!?)\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<target>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)"
)
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


def stage(root: Path, into: Path, headway: Path) -> None:
    """Write all sources of the site into the folder `into`, which is emptied first."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    pages = {**docs_pages(root), **ABOVE}
    for source, staged in pages.items():
        text = (root / source).read_text(encoding="utf-8")
        target = into / staged
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rewritten(text, source, staged, root) + contents(text, source, root), encoding="utf-8")
    for picture in sorted((root / "docs").rglob("*")):
        if picture.suffix in {".svg", ".png"} and picture.relative_to(root / "docs").parts[0] not in NO_PAGES:
            target = into / picture.relative_to(root / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target)
    for notebook in sorted((root / NOTEBOOKS).glob("*.ipynb")):
        target = into / "notebooks" / notebook.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(rewritten_notebook(notebook, root), encoding="utf-8")
    made = made_pages(root, headway)
    for name, text in made.items():
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    index = into / "index.md"
    text = index.read_text(encoding="utf-8")
    for caption, pages in MADE.items():
        text = text.replace(MADE_MARK + caption, "\n".join(page for page in pages if f"{page}.md" in made))
    index.write_text(text, encoding="utf-8")


def docs_pages(root: Path) -> dict[str, str]:
    """The pages of `docs/`, from the root of the repository, and where each is staged."""
    found = {}
    for page in sorted((root / "docs").rglob("*.md")):
        within = page.relative_to(root / "docs")
        if within.parts[0] not in NO_PAGES:
            source = page.relative_to(root).as_posix()
            found[source] = "index.md" if source == INDEX else within.as_posix()
    return found


def staged_name(path: str, root: Path) -> str | None:
    """Where a file of the repository is staged; None if the site has not got it."""
    if path in ABOVE:
        return ABOVE[path]
    if path == "scenarios":
        return "bundled/index.md"
    parts = path.split("/")
    if path.startswith(NOTEBOOKS) and path.endswith(".ipynb"):
        return f"notebooks/{path.removeprefix(NOTEBOOKS)}"
    if parts[0] == "scenarios" and path.endswith(".toml"):
        return f"bundled/{path.removeprefix('scenarios/').removesuffix('.toml')}.md"
    if parts[0] == "docs" and (root / path).is_file() and parts[1] not in NO_PAGES:
        return "index.md" if path == INDEX else path.removeprefix("docs/")
    return None


def rewritten(text: str, source: str, staged: str, root: Path) -> str:
    """A page with its relative links as they are in the site."""

    def link(found: re.Match[str]) -> str:
        target = found["target"]
        if found["code"] is not None or target.startswith("#") or re.match(r"[a-z]+:", target):
            return found[0]
        file, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        if not (root / path).exists():
            raise FileNotFoundError(f"{source} links to {target}, which is not there")
        here = staged_name(path, root)
        if here is None:
            return found["text"]
        new = posixpath.relpath(here, posixpath.dirname(staged) or ".") + (f"#{anchor}" if anchor else "")
        return f"{found['picture']}[{found['text']}]({new})"

    return outside_fences(text, lambda line: LINK.sub(link, line))


def rewritten_notebook(notebook: Path, root: Path) -> str:
    """A notebook with its outputs, and with the links of its text as they are in the site."""
    content = outputs.with_outputs(notebook, root / "target/notebooks")
    for cell in content["cells"]:
        if cell["cell_type"] == "markdown":
            text = "".join(cell["source"])
            cell["source"] = rewritten(text, f"{NOTEBOOKS}{notebook.name}", f"notebooks/{notebook.name}", root)
    return json.dumps(content)


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """The text with each line changed that is not in a fenced block."""
    lines, fence = [], None
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None and mark and mark[1].startswith(fence):
            fence = None
        elif fence is None:
            line = change(line)
        lines.append(line)
    return "".join(lines)


def contents(text: str, source: str, root: Path) -> str:
    """The hidden tables of contents that a page gets: those of an index, none for others."""
    if source == INDEX:
        return "".join(toctree(pages, caption) for caption, pages in captions(text, root))
    folder = posixpath.dirname(source)
    if posixpath.basename(source) != "README.md" or not folder:
        return ""
    here = [page for page in linked(text, source, root) if posixpath.dirname(page) == folder.removeprefix("docs/")]
    return toctree([posixpath.basename(page) for page in here], None)


def captions(text: str, root: Path) -> list[tuple[str, list[str]]]:
    """The captions of the first index and the pages below each; a page stands where it is named first."""
    _, _, listed = text.partition("\n## All pages\n")
    if not listed:
        raise ValueError(f'{INDEX} has no section "All pages"')
    seen: set[str] = set()
    found = []
    for section in re.split(r"^### ", listed, flags=re.MULTILINE)[1:]:
        caption, _, body = section.partition("\n")
        pages = [page for page in linked(body, INDEX, root) if page not in seen and not inside_folder(page)]
        seen.update(pages)
        name = caption.strip()
        found.append((name, pages + ([MADE_MARK + name] if name in MADE else [])))
    missing = set(MADE) - {caption for caption, _ in found}
    if missing:
        raise ValueError(f"{INDEX} has no caption {', '.join(sorted(missing))}, where made pages go")
    return found


def inside_folder(page: str) -> bool:
    """Whether a page is one of a folder that has an index of its own, which lists it."""
    return "/" in page and posixpath.basename(page) != "README"


def linked(text: str, source: str, root: Path) -> list[str]:
    """The staged pages that a text links to, without their endings, each once, in order."""
    found: list[str] = []

    def note(match: re.Match[str]) -> str:
        target = (match["target"] or "").partition("#")[0]
        if match["code"] is None and target and not re.match(r"[a-z]+:", target):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
            here = staged_name(path, root)
            if here and here.endswith(".md") and here != "index.md" and here[:-3] not in found and path != source:
                found.append(here[:-3])
        return match[0]

    outside_fences(text, lambda line: LINK.sub(note, line))
    return found


def toctree(pages: list[str], caption: str | None) -> str:
    if not pages:
        return ""
    head = f":caption: {caption}\n" if caption else ""
    return "\n\n```{toctree}\n:hidden:\n:maxdepth: 1\n" + head + "\n" + "\n".join(pages) + "\n```\n"


def made_pages(root: Path, headway: Path) -> dict[str, str]:
    """The pages that are made from what the command prints, from the bundled scenarios and from docstrings."""
    printed = subprocess.run([headway, "schema"], capture_output=True, text=True, timeout=60, check=True).stdout
    made = {f"reference/keys/{name}": text for name, text in schema.pages(json.loads(printed)).items()}
    made |= {f"reference/commands/{name}": text for name, text in commands.pages(headway).items()}
    made |= {f"bundled/{name}": text for name, text in scenario_pages(root, headway).items()}
    names = [notebook.stem for notebook in sorted((root / NOTEBOOKS).glob("*.ipynb"))]
    if names:
        listed = "\n".join(names)
        made["notebooks/index.md"] = (
            "# Notebooks\n\nThe notebooks of `python/notebooks`, which the tests of the package run. "
            "The outputs are those of a run when the site was built.\n\n"
            f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
        )
    api = python_api.pages()
    return made | {f"reference/python/{name}": text for name, text in api.items()}


def scenario_pages(root: Path, headway: Path) -> dict[str, str]:
    """A page for each bundled scenario with its file, and their index."""
    printed = subprocess.run([headway, "list", "--json"], capture_output=True, text=True, timeout=60, check=True).stdout
    described = {scenario["name"]: scenario for scenario in json.loads(printed)}
    files = sorted((root / "scenarios").glob("*.toml"))
    missing = [file.stem for file in files if file.stem not in described]
    if missing:
        raise RuntimeError(f"{headway} does not list {', '.join(missing)}: build it again")
    found, rows = {}, []
    for file in files:
        scenario = described[file.stem]
        source = f"\n\nSource: {schema.prose(scenario['source'])}" if scenario["source"] else ""
        found[f"{file.stem}.md"] = (
            f"# {file.stem}\n\n{schema.prose(scenario['about'])}{source}\n\n"
            f"    headway run {file.stem}\n\n~~~~toml\n{file.read_text(encoding='utf-8').rstrip()}\n~~~~\n"
        )
        rows.append(f"| [{file.stem}]({file.stem}.md) | {schema.cell(schema.prose(scenario['about']))} |")
    names = "\n".join(file.stem for file in files)
    index = (
        "# Bundled scenarios\n\nThe files of `headway list`, as they are. "
        "[Scenarios and papers](../scenarios/README.md) has set-up, results and comparison with the papers.\n\n"
        "| scenario | about |\n|---|---|\n"
        + "\n".join(rows)
        + "\n\n```{toctree}\n:hidden:\n:maxdepth: 1\n\n"
        + names
        + "\n```\n"
    )
    return {"index.md": index} | found
