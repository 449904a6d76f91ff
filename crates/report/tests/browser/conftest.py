"""Chromium for the tests; without it they skip and say why."""

import shutil
from pathlib import Path

import pytest

import fixtures
from page import assemble

ROOT = Path(__file__).resolve().parents[4]
SCREENSHOTS = ROOT / "target/report-screenshots"


def chromium_path():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (pip install playwright)")
    path = chromium_path()
    if path is None:
        pytest.skip("no chromium in PATH (apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        # As root Chromium has no sandbox; the pages are our own and reach no network.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Where the file of made-up data is, by its name in `fixtures.ALL`."""
    folder = tmp_path_factory.mktemp("reports")
    files = {}

    def file(name):
        if name not in files:
            files[name] = folder / f"{name}.html"
            files[name].write_text(assemble(fixtures.ALL[name]()), "utf-8")
        return files[name]

    return file


def wait_until(page, expression, seconds=60):
    """Playwright's own `wait_for_function` needs `eval`, which the page's policy forbids."""
    for _ in range(int(seconds / 0.05)):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"after {seconds} s still not: {expression}")


class Opened:
    """A report in a browser, with everything that it said or asked for."""

    def __init__(self, page, path):
        self.page, self.path = page, Path(path)
        self.said, self.asked = [], []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(self.path.as_uri())
        wait_until(page, "document.documentElement.dataset.ready === 'true'")

    def scroll_through(self):
        """Brings every chart and player into view, and waits there until it is drawn: 1,200 looks at most."""
        shown = "[...document.querySelectorAll('.chart, .player')].filter(it => it.offsetParent)"
        # a player brings its charts with it
        for _ in range(1200):
            undrawn = f"{shown}.find(it => it.player ? !it.player.built : !it.dataset.drawn)"
            show = (
                f"(it => {{ it?.scrollIntoView({{ block: 'center', behavior: 'instant' }}); return !it; }})({undrawn})"
            )
            if self.page.evaluate(show):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("a chart is not drawn though it is in view")

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        self.page.wait_for_timeout(50)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def check_quiet(self):
        """Nothing on the console, and nothing asked of anybody but the file itself and what it carries."""
        assert self.said == []
        beyond = [url for url in self.asked if url != self.path.as_uri() and not url.startswith(("data:", "blob:"))]
        assert beyond == []


@pytest.fixture
def open_report(browser, reports):
    """Opens made-up data by its name, or a file. At the end of the test every page must have been quiet."""
    opened = []

    def open_one(which, **context):
        path = which if isinstance(which, Path) else reports(which)
        context = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", **context}
        one = Opened(browser.new_context(**context).new_page(), path)
        opened.append(one)
        return one

    yield open_one
    for one in opened:
        one.page.context.close()
        one.check_quiet()
