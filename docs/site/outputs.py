"""Notebooks with the outputs of a run.

The repository keeps notebooks without outputs. For the site each is run once and kept in `target/notebooks` until the
notebook or the package changes. Where the package or nbclient is not installed pages have no outputs, and the build
says so.
"""

import importlib.util
import json
from pathlib import Path

NEEDED = ("headway", "ipykernel", "matplotlib", "nbclient", "nbformat", "pandas")


def with_outputs(notebook: Path, kept: Path) -> dict:
    """Return the notebook's content, with outputs where it can be run; `kept` is the folder of earlier runs."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{notebook.name} has no outputs, because {', '.join(missing)} is not installed here")
        return content
    earlier = kept / notebook.name
    if earlier.is_file() and earlier.stat().st_mtime > newest(notebook):
        found = json.loads(earlier.read_text(encoding="utf-8"))
        if sources(found) == sources(content):
            return found
    return run(notebook, earlier)


def newest(notebook: Path) -> float:
    """The time of the last change of the notebook, of what lies beside it, and of the package."""
    package = Path(importlib.util.find_spec("headway").origin).parent
    files = [*notebook.parent.iterdir(), *(one for one in package.iterdir() if one.suffix in {".py", ".so"})]
    return max(file.stat().st_mtime for file in files if file.is_file())


def sources(content: dict) -> list[tuple[str, str]]:
    """Kind and text of each cell."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in content["cells"]]


def run(notebook: Path, into: Path) -> dict:
    """Run a notebook in its folder, and keep it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(notebook, as_version=4)
    NotebookClient(content, timeout=600, resources={"metadata": {"path": str(notebook.parent)}}).execute()
    for cell in content.cells:
        cell.metadata.pop("execution", None)  # times of this run
        if cell.cell_type == "code":
            # what a notebook writes to stderr is about this machine (the progress of its runs)
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    into.parent.mkdir(parents=True, exist_ok=True)
    text = nbformat.writes(content)
    unfinished = into.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(into)
    return json.loads(text)
