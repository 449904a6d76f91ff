"""Reports that `headway` wrote pass the checks that made-up ones do.

Folders or files in `HEADWAY_REPORTS` (separated by `:`), else some that `target/debug/headway` writes now.
"""

import os
import subprocess
from pathlib import Path

import pytest
from checks import check_contrast, check_drawn, check_fits, check_structure
from conftest import ROOT

PROGRAM = ROOT / "target/debug/headway"
LIMIT = 1_500_000  # bytes of a report


def written(folder):
    """Two runs at quick size, a report over both and a reproduction; the reason why not, where that cannot be."""
    if not PROGRAM.exists():
        return "no HEADWAY_REPORTS, and target/debug/headway is not built (cargo build -p headway-cli)"
    # A program that is built and writes no reports is a fault, not a reason to skip.
    for name, scenario in (("incast", "example-incast"), ("queues", "example-queues")):
        command = [PROGRAM, "run", ROOT / f"scenarios/{scenario}.toml", "--quick", "--quiet", "--out", folder / name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 1), done.stderr
    done = subprocess.run(
        [PROGRAM, "report", folder / "incast", folder / "queues", "--out", folder / "both.html"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    command = [PROGRAM, "reproduce", "lanes-l12-four-paths", "--quick", "--no-kernel-hosts", "--out", folder / "paper"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    written = sorted(folder.rglob("*.html"))
    assert folder / "paper/report.html" in written and len(written) >= 5, written
    return written


@pytest.fixture(scope="session")
def real_reports(browser, tmp_path_factory):
    given = [Path(place) for place in os.environ.get("HEADWAY_REPORTS", "").split(":") if place]
    if given:
        return [
            path for place in given for path in ([place] if place.is_file() else sorted(place.rglob("report.html")))
        ]
    found = written(tmp_path_factory.mktemp("runs"))
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 1280), ("light", 380)])
def test_a_report_that_headway_wrote_is_sound(open_report, real_reports, scheme, width):
    assert real_reports
    for path in real_reports:
        assert path.stat().st_size < LIMIT, path
        report = open_report(path, color_scheme=scheme, viewport={"width": width, "height": 900})
        report.scroll_through()
        kind = report.page.evaluate("JSON.parse(document.getElementById('headway-data').textContent).kind")
        assert len(check_drawn(report.page)) >= (0 if kind == "reproduction" else 1), path
        check_structure(report.page)
        check_fits(report.page)
        check_contrast(report.page)
        report.screenshot(f"real-{path.parent.name}-{path.stem}-{scheme}-{width}")
        report.page.context.close()


def test_the_player_of_a_real_run_plays(open_report, real_reports):
    played = 0
    for path in real_reports:
        page = open_report(path).page
        if not page.locator(".player").count():
            continue
        page.locator(".player").first.scroll_into_view_if_needed()
        page.locator(".network").first.wait_for()
        strokes = "[...document.querySelectorAll('.network line:not(.hit, .halo)')].map(it => it.getAttribute('stroke')).join()"
        seen = {page.evaluate(strokes)}
        page.get_by_role("button", name="One step on").focus()
        for _ in range(12):
            page.keyboard.press("ArrowRight")
            seen.add(page.evaluate(strokes))
        assert len(seen) > 1, path
        played += 1
    if not played and os.environ.get("HEADWAY_REPORTS"):
        pytest.skip("no report of HEADWAY_REPORTS has a film of its links")
    assert played, "runs of these scenarios are filmed"
