"""The built site: no warnings, every link and anchor leads somewhere, nothing is from elsewhere, the search finds."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Attributes by which a page loads something or runs it. Links that a reader may follow (`<a href>`) are none of them.
LOADED = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "embed": "src",
}


class Page(HTMLParser):
    """Links, anchors and loaded things of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        self.styles.append(found.get("style", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag) in found:
            self.loaded.append(found[LOADED[tag]])
        if "srcset" in found:
            self.loaded += [one.split()[0] for one in found["srcset"].split(",")]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def elsewhere(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc) and not address.startswith("data:")


def test_it_builds_without_a_warning(built) -> None:
    _, done = built
    assert done.returncode == 0, done.stderr[-5000:]
    # Sphinx's own, not those of the kernels that execute notebooks.
    assert [line for line in done.stderr.splitlines() if "WARNING: " in line] == []


def test_every_link_and_anchor_leads_somewhere(pages: dict[Path, Page], site: Path) -> None:
    wrong, count = [], 0
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if elsewhere(link) or link.startswith("data:"):
                continue
            count += 1
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(site) or not target.is_file():
                wrong.append(f"{path.relative_to(site)}: {link}: no such file")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {link}: no such anchor")
    assert not wrong, "\n".join(wrong)
    assert count > 5_000, f"only {count} links were found"


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page], site: Path) -> None:
    wrong = [
        f"{path.relative_to(site)}: {one}" for path, page in pages.items() for one in page.loaded if elsewhere(one)
    ]
    styles = [(path, text) for path, page in pages.items() for text in page.styles]
    styles += [(path, path.read_text(encoding="utf-8")) for path in site.rglob("*.css")]
    for path, text in styles:
        loads = re.findall(r"""(?:url\(|@import)\s*["']?([^"')\s]+)""", text)
        wrong += [f"{path.relative_to(site)}: {one}" for one in loads if elsewhere(one)]
    for path in site.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        called = r"""(?:fetch|import|importScripts|open|WebSocket|EventSource)\(\s*["'`](?:https?:|wss?:|//)[^"'`]*"""
        wrong += [f"{path.relative_to(site)}: {one}" for one in re.findall(called, text)]
    assert not wrong, "\n".join(wrong)


def test_scripts_and_styles_are_in_the_site(site: Path) -> None:
    for name in ("searchindex.js", "_static/searchtools.js", "_static/styles/furo.css", "_static/site.css"):
        assert (site / name).is_file(), name


def test_the_search_index_finds_pfc(site: Path) -> None:
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\);?\s*", text, re.DOTALL)[1])
    found = index["terms"]["pfc"]
    names = {index["docnames"][number] for number in ([found] if isinstance(found, int) else found)}
    assert "lossless" in names


def test_pages_are_found_in_a_browser_without_a_server(site: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("no chromium: apt-get install chromium")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    address = f"{(site / 'search.html').as_uri()}?q=PFC"
    done = subprocess.run([chromium, *options, address], capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"found (\d+) pages? matching", done.stdout)
    assert found, done.stdout[-3000:]
    assert int(found[1]) >= 5
    assert 'href="lossless.html"' in done.stdout


def complete() -> None:
    """Skip where the environment of tests is not there, in which the package is."""
    if not (ROOT / "target/venv/complete").is_file():
        pytest.skip("no target/venv: make venv")


def test_the_python_package_has_its_reference(pages: dict[Path, Page], site: Path) -> None:
    complete()
    page = pages[site / "reference/python/headway.html"]
    assert {"headway.Scenario.run", "headway.sweep", "headway.CongestionControl"} <= page.anchors
    assert "headway.plot.cdf" in pages[site / "reference/python/headway.plot.html"].anchors


def test_notebooks_have_their_outputs(pages: dict[Path, Page], site: Path) -> None:
    complete()
    for notebook in (ROOT / "python/notebooks").glob("*.ipynb"):
        page = site / f"notebooks/{notebook.stem}.html"
        pictures = [one for one in pages[page].loaded if one.endswith(".png") and "_images" in one]
        assert pictures, f"{notebook.name} has no figure"
    assert "published 390 Mb/s" in (site / "notebooks/a-papers-figure.html").read_text(encoding="utf-8")


def test_every_page_is_reached_from_the_first(pages: dict[Path, Page], site: Path) -> None:
    first = site / "index.html"
    seen, waiting = {first}, [first]
    while waiting:
        path = waiting.pop()
        for link in pages[path].links:
            target = (path.parent / unquote(urlsplit(link).path)).resolve()
            if not elsewhere(link) and target in pages and target not in seen:
                seen.add(target)
                waiting.append(target)
    missed = {path.relative_to(site).as_posix() for path in pages} - {
        path.relative_to(site).as_posix() for path in seen
    }
    assert missed <= {"search.html", "genindex.html", "py-modindex.html"}, missed
