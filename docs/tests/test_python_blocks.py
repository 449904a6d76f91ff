"""Examples in Python outside docs/python.md, which the package's own tests run: all are Python, those of pages run."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = [
    (page.relative_to(ROOT).as_posix(), text)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for text in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
]
# a small scenario in place of the reader's own
SCENARIO = (ROOT / "scenarios/example-incast.toml").read_text(encoding="utf-8")
# processes begin as on macOS, Windows and with Python 3.14: they import the script, which must not sweep again
SPAWN = "import multiprocessing\n\nmultiprocessing.set_start_method('spawn', force=True)\n"
CLUSTER = 'Client("scheduler:8786")'
LOCAL = 'Client(__import__("distributed").LocalCluster(n_workers=1, processes=False, dashboard_address=None))'


def blocks(page: str) -> list[str]:
    return [text for name, text in BLOCKS if name == page]


def run(text: str, folder: Path) -> None:
    """Run a block as a script, with fewer repeats and processes than it asks for."""
    if importlib.util.find_spec("headway") is None:
        pytest.skip("the Python package is not installed (make package)")
    (folder / "my.toml").write_text(SCENARIO, encoding="utf-8")
    script = folder / "example.py"
    smaller = text.replace("repeats=100", "repeats=2").replace("Executor(8)", "Executor(2)").replace(CLUSTER, LOCAL)
    script.write_text(SPAWN + smaller, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "text"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_every_block_is_python(page: str, text: str) -> None:
    compile(text, page, "exec")


def test_the_sweep_on_processes_runs(tmp_path: Path) -> None:
    (block,) = [text for text in blocks("docs/sweeps.md") if "ProcessPoolExecutor" in text]
    run(block, tmp_path)
    assert (tmp_path / "results/my/summary.csv").is_file()
    assert any((tmp_path / "runs").iterdir())


def test_the_sweep_on_a_cluster_runs(tmp_path: Path) -> None:
    (block,) = [text for text in blocks("docs/sweeps.md") if "Client" in text]
    assert CLUSTER in block
    pytest.importorskip("distributed")
    run(block, tmp_path)
    assert (tmp_path / "results/my-2/summary.csv").is_file()


def test_the_control_of_ones_own_runs(tmp_path: Path) -> None:
    (block,) = blocks("docs/own-policies.md")
    run(block, tmp_path)
