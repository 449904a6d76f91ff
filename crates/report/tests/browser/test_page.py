"""Each kind of page opens offline, is drawn, and is sound in light, dark, on a phone and on paper."""

import json
import re

import fixtures
import pytest
from checks import check_contrast, check_drawn, check_fits, check_structure
from conftest import SCREENSHOTS, wait_until
from page import ASSETS, assemble

FULL = ["mean FCT, query against senders", "CDF of FCT, query, senders=6", "Slowdown by flow size, query, senders=6",
        "Queue of leaf0>spine0", "Goodput of bulk/1", "RTT, smoothed of bulk/0/0", "Link leaf1 → h7 over time"]  # fmt: skip
EXPECTED = {
    "full": FULL,
    "no_sweep": ["mean FCT, query by policy", "CDF of FCT, query"],
    "two_parameters": ["mean FCT, query against load (queue = drop-tail)", "CDF of FCT, query, load=0.2, queue=drop-tail",
                       "Slowdown by flow size, query, load=0.2, queue=drop-tail"],
    "nothing": [],
    "comparison": FULL,
    "reproduction": [],
}  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", EXPECTED)
def test_every_chart_of_a_page_is_drawn(open_report, name, scheme):
    report = open_report(name, color_scheme=scheme)
    report.scroll_through()
    report.screenshot(f"{name}-{scheme}")
    assert check_drawn(report.page) == EXPECTED[name]
    check_structure(report.page)
    check_fits(report.page)
    check_contrast(report.page)


@pytest.mark.parametrize("name", [*EXPECTED, "hostile"])
def test_a_phone_needs_no_sideways_scrolling(open_report, name):
    report = open_report(name, viewport={"width": 380, "height": 760}, device_scale_factor=2, has_touch=True)
    report.scroll_through()
    check_fits(report.page)
    check_drawn(report.page)
    report.screenshot(f"{name}-phone")


@pytest.mark.parametrize("name", ["full", "comparison", "reproduction"])
def test_paper_is_light_has_every_chart_and_no_controls(open_report, name):
    report = open_report(name, color_scheme="dark")
    # Nothing was scrolled to: printing draws what has never been in view.
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    pdf = report.page.pdf(path=SCREENSHOTS / f"{name}.pdf", format="A4", print_background=False)
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") >= 2
    assert report.page.evaluate("document.documentElement.dataset.theme") == "dark", "as before after printing"

    report.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    report.page.emulate_media(media="print")
    assert report.page.evaluate("document.documentElement.dataset.theme") == "light"
    assert check_drawn(report.page) == EXPECTED[name]
    shown = "[...document.querySelectorAll('button, select, input, nav')].filter(it => it.checkVisibility()).map(it => it.outerHTML.slice(0, 80))"
    left = [
        it
        for it in report.page.evaluate(shown)
        if "entry" not in it and "sortable" not in it and not re.match(r'<button type="button" title="Sort', it)
    ]
    assert left == []
    widest = report.page.evaluate(
        "Math.max(0, ...[...document.querySelectorAll('.chart > div > svg')].map(it => it.getBoundingClientRect().width))"
    )
    assert widest <= 690, "A4 less its margins"


def test_a_chart_is_made_when_it_comes_into_view(open_report):
    report = open_report("full")
    report.page.wait_for_timeout(200)
    drawn = "document.querySelectorAll('.chart[data-drawn]').length"
    assert report.page.evaluate(drawn) < len(FULL)
    report.scroll_through()
    assert report.page.evaluate(drawn) == len(FULL)


def test_the_theme_switch_draws_charts_anew(open_report):
    page = (report := open_report("full")).page
    report.scroll_through()
    colour = "document.querySelector('.chart svg path[stroke-width=\"2\"]').getAttribute('stroke')"
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour), page.evaluate(ground)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(colour), page.evaluate(ground)
    assert light[0] != dark[0] and light[1] == "rgb(255, 255, 255)" and dark[1] == "rgb(22, 26, 32)"
    check_contrast(page)
    page.get_by_role("button", name="Light").click()
    assert (page.evaluate(colour), page.evaluate(ground)) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == light[1], "the reader's choice stays"


def test_the_system_decides_until_the_reader_does(open_report):
    page = open_report("nothing").page
    page.emulate_media(color_scheme="dark")
    wait_until(page, "document.documentElement.dataset.theme === 'dark'")


def test_empty_sections_say_why(open_report):
    page = open_report("nothing").page
    headings = [text for text in page.locator("main h2").all_inner_texts()]
    reasons = page.locator("main .absent").all_inner_texts()
    assert len(reasons) == 7 and all(len(reason) > 25 for reason in reasons)
    assert headings[0] == "What was run" and page.locator("figure").count() == 0


def test_the_sections_stand_in_their_order(open_report):
    page = open_report("full").page
    assert page.locator("main h2").all_inner_texts() == [
        "What was run", "Warnings and notes", "Claims", "Summary", "Metrics against the swept value",
        "Distribution of flow completion times", "Slowdown by flow size", "Time series", "The network over time",
    ]  # fmt: skip
    assert page.locator("header .tally").inner_text().split("\n") == [
        "✓ 1 held",
        "✗ 1 not held",
        "≠ 1 known not to hold",
        "– 2 not evaluated",
    ]
    assert page.get_by_text("18446744073709551615").is_visible(), "the seed, with all its digits"
    assert "2 min 14 s" in page.locator(".facts").inner_text()
    assert page.locator("li.known p.known").inner_text().startswith("Known: The source's switches")


def test_the_scenario_is_folded_away_and_copied_whole(open_report):
    page = (report := open_report("full")).page
    report.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    assert not page.locator("pre").count()
    page.get_by_text("Scenario file with every default").click()
    assert page.locator("pre").inner_text().startswith('name = "queue-buildup"')
    page.locator(".code").get_by_role("button", name="copy").click()
    page.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == fixtures.TOML


def test_hostile_names_stay_text(open_report, tmp_path):
    page = (report := open_report("hostile")).page
    report.scroll_through()
    for summary in page.locator("summary").all():
        summary.click()
    for chart in page.locator(".chart").all():
        chart.hover(position={"x": 240, "y": 120})
        page.wait_for_timeout(30)
    page.evaluate("document.querySelector('.hit').dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))")
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed, main script, [onerror]").count() == 0
    assert page.locator("main b").filter(has_text="{a|b}").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()
    assert page.title().startswith("</script><img src=x")
    check_drawn(page)
    with page.expect_download() as download:
        page.locator("figure").first.get_by_role("button", name="SVG").click()
    download.value.save_as(tmp_path / "hostile.svg")
    assert "<img" not in (tmp_path / "hostile.svg").read_text("utf-8")
    report.screenshot("hostile")


@pytest.mark.parametrize("data, words", [
    ("{", "This report cannot be shown"), ('{"format":2,"kind":"run","runs":[{}]}', "format 2"),
    ('{"format":1,"kind":"film","runs":[{}]}', "no run"), ('{"format":1,"kind":"run","runs":[]}', "no run"),
])  # fmt: skip
def test_data_that_cannot_be_read_is_said(browser, tmp_path, data, words):
    path = tmp_path / "broken.html"
    whole = assemble(fixtures.nothing())
    path.write_text(
        re.sub(r'(id="headway-data">).*?(</script>)', lambda found: found[1] + data + found[2], whole, flags=re.S),
        "utf-8",
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    assert words in page.locator("main").inner_text()
    page.close()


def test_a_run_without_any_list_still_opens(browser, tmp_path):
    data = {"format": 1, "kind": "run", "title": "bare", "runs": [{"label": "bare", "scenario": "bare"}], "groups": []}
    path = tmp_path / "bare.html"
    path.write_text(assemble(data), "utf-8")
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    wait_until(page, "document.documentElement.dataset.ready === 'true'")
    assert errors == [] and page.locator("main h2").count() == 8
    page.close()


def test_the_page_refers_to_nothing_outside_and_leaves_room_for_data():
    empty = assemble({"format": 1, "kind": "run", "title": "", "runs": [], "groups": []})
    assert len(empty.encode()) < 750_000, "of 1.5 MB, data may have 750,000 bytes"
    frame = (ASSETS / "page.html").read_text("utf-8")
    ours = (
        frame
        + (ASSETS / "style.css").read_text("utf-8")
        + "".join(path.read_text("utf-8") for path in (ASSETS / "app").iterdir())
    )
    assert not re.search(
        r"(?:src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(",
        frame + (ASSETS / "style.css").read_text("utf-8"),
    )
    assert re.findall(r"https?://[^\"'\s]+", ours) == ["http://www.w3.org/2000/svg"] * 2, "names of a namespace only"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", ours)
    assert "default-src 'none'" in frame


def test_every_source_file_is_in_the_page_and_of_readable_size():
    from page import APP

    assert sorted(f"{name}.js" for name in APP) == sorted(path.name for path in (ASSETS / "app").iterdir())
    for path in [*(ASSETS / "app").iterdir(), ASSETS / "style.css"]:
        assert len(path.read_text("utf-8").splitlines()) < 700, path.name


def test_the_recipe_pins_what_it_installs_and_names_no_registry():
    package = json.loads((ASSETS / "echarts/package.json").read_text("utf-8"))
    lock = (ASSETS / "echarts/package-lock.json").read_text("utf-8")
    built = (ASSETS / "echarts/echarts.min.js").read_text("utf-8")
    version = package["devDependencies"]["echarts"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", pinned) for pinned in package["devDependencies"].values())
    assert "resolved" not in lock
    assert built.startswith("/*!") and f"Apache ECharts {version}" in built[:200] and "Apache License" in built[:400]
    assert len(built.encode()) <= 600_000
