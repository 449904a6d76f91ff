"""The site is built once for all tests, in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))


@pytest.fixture(scope="session")
def headway() -> Path:
    """The command: what HEADWAY names, else the newest build."""
    named = os.environ.get("HEADWAY")
    builds = [Path(named)] if named else [ROOT / "target" / kind / "headway" for kind in ("debug", "release")]
    there = [build for build in builds if build.is_file()]
    if not there:
        pytest.skip(f"no headway command ({', '.join(map(str, builds))}): cargo build")
    return max(there, key=lambda build: build.stat().st_mtime)


@pytest.fixture(scope="session")
def built(headway: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess]:
    """The folder of the site, and how its build ended."""
    pytest.importorskip("sphinx")
    out = tmp_path_factory.mktemp("built") / "site"
    script = [sys.executable, ROOT / "docs/site/build.py", "--headway", headway, "--out", out]
    return out, subprocess.run(script, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="session")
def site(built: tuple[Path, subprocess.CompletedProcess]) -> Path:
    out, done = built
    assert done.returncode == 0, done.stderr[-5000:]
    return out
