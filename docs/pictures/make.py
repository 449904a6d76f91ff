"""The picture of a report in README: `make pictures`, or `python docs/pictures/make.py REPORT.html`.

Two sections of the page of `headway run lanes-l7-queue-buildup`, as a window of 1,200 pixels shows them: the 95th
percentile of completion times against the number of senders, and the network at three seconds with ten senders.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, expect, sync_playwright

INTO = Path(__file__).resolve().parent / "report.png"
WIDTH = 1_200  # pixels
LARGEST = 300_000  # bytes
SECTIONS = ("metrics-against-the-swept-value", "the-network-over-time")
SHOWN = ("mptcp", "repflow", "lanes-link-cost")
STEP, CLOCK = 49, "3 s"  # of a hundred steps in six seconds


def main() -> int:
    """Write the picture, and return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("no chromium in PATH (Debian: apt-get install chromium)", file=sys.stderr)
        return 3
    with sync_playwright() as playwright:
        # as root Chromium has no sandbox; the page is our own and reaches no network
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": WIDTH, "height": 900}, color_scheme="light").new_page()
        page.goto(Path(sys.argv[1]).resolve().as_uri())
        expect(page.locator("html")).to_have_attribute("data-ready", "true")
        picture = view(page)
        browser.close()
    # a palette looks the same here, in a quarter of the bytes
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    image = whole.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(INTO, optimize=True)
    size = INTO.stat().st_size
    print(f"{INTO}: {image.width} × {image.height} pixels, {size} bytes")
    if size > LARGEST:
        print(f"larger than {LARGEST} bytes", file=sys.stderr)
        return 1
    return 0


def view(page: Page) -> bytes:
    """Take the two sections, one below the other, as PNG."""
    # beyond the sections nothing is seen, so that the two follow each other
    page.evaluate(
        "names => document.querySelectorAll('section').forEach("
        "it => { it.hidden = !names.some(name => it.querySelector(`h2#${name}, #${name}`)) })",
        list(SECTIONS),
    )
    metrics, network = (page.locator("section").filter(has=page.locator(f"#{name}")) for name in SECTIONS)
    metrics.scroll_into_view_if_needed()
    metrics.get_by_label("Metric").select_option(label="p95 FCT")
    network.scroll_into_view_if_needed()
    for button in network.locator("button[aria-pressed]").all():
        wanted = (button.text_content() or "").strip() in SHOWN
        if (button.get_attribute("aria-pressed") == "true") != wanted:
            button.click()
    expect(network.locator(".network")).to_have_count(len(SHOWN))
    network.get_by_role("slider", name="Time").fill(str(STEP))
    expect(network.locator(".clock")).to_have_text(CLOCK)
    page.evaluate("document.activeElement.blur()")  # the last button has a ring
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)  # charts fade in
    top = box(metrics)["y"]
    bottom = max(panel["y"] + panel["height"] for panel in map(box, network.locator(".panel").all()))
    edge = 16
    clip = {"x": 0, "y": top - edge, "width": WIDTH, "height": bottom - top + 2 * edge}
    return page.screenshot(full_page=True, clip=clip)


def box(found: Locator) -> FloatRect:
    """Find where something is, from the beginning of the page."""
    top = found.page.evaluate("scrollY")
    place = found.bounding_box()
    assert place is not None, "it is not on the page"
    return {**place, "y": place["y"] + top}


if __name__ == "__main__":
    sys.exit(main())
