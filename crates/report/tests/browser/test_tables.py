"""Tables sort by mouse and keyboard, filter, and mark the best."""

import csv
import io

SUMMARY = "section:has(> h2:text('Summary'))"


def column(page, place, table=f"{SUMMARY} table"):
    cells = "(rows, place) => rows.map(row => row.children[place].textContent.replace(/ \\(.*/, ''))"
    return page.locator(f"{table} tbody tr").evaluate_all(cells, place)


def sorts(page, table=f"{SUMMARY} table"):
    return page.locator(f"{table} thead th").evaluate_all("all => all.map(it => it.getAttribute('aria-sort'))")


def test_a_click_sorts_rising_then_falling_then_as_it_was(open_report):
    page = open_report("full").page
    assert column(page, 0) == ["0", "2", "4", "6"]
    head = page.locator(f"{SUMMARY} thead").get_by_role("button", name="mptcp")
    head.click()
    assert sorts(page) == [None, None, "ascending", None, None]
    assert column(page, 0) == ["0", "2", "4", "6"]
    head.click()
    assert sorts(page) == [None, None, "descending", None, None]
    assert column(page, 0) == ["6", "4", "2", "0"], "938 µs and 1.313 ms by their values, not by their text"
    head.click()
    assert sorts(page) == [None] * 5 and column(page, 0) == ["0", "2", "4", "6"]


def test_the_keyboard_sorts_too_and_the_focus_is_seen(open_report):
    page = open_report("full").page
    head = page.locator(f"{SUMMARY} thead").get_by_role("button", name="senders")
    head.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert head.evaluate("it => it === document.activeElement && getComputedStyle(it).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert sorts(page)[0] == "descending" and column(page, 0) == ["6", "4", "2", "0"]


def test_rows_of_the_grid_are_points_and_columns_policies(open_report):
    page = open_report("two_parameters").page
    heads = page.locator(f"{SUMMARY} thead button").all_inner_texts()
    assert heads == ["load", "queue", "tcp", "mptcp", "lanes-deadline", "lanes-link-cost"]
    assert len(column(page, 0)) == 12
    page.locator(SUMMARY).get_by_role("combobox", name="Metric", exact=True).select_option("p99 FCT")
    assert page.locator(f"{SUMMARY} caption").inner_text() == "p99 FCT, query (less is better)"


def test_the_best_is_marked_and_what_cannot_be_told_from_it(open_report):
    page = open_report("two_parameters").page
    # tcp has the least mean; its interval, 0.9 to 1.2 ms, meets that of mptcp (1.2 to 1.6 ms) and not that of lanes-link-cost (1.8 ms and up).
    marks = (
        page.locator(f"{SUMMARY} tbody tr")
        .first.locator("td")
        .evaluate_all("all => all.map(it => it.className.replace('number', '').trim())")
    )
    assert marks == ["", "best", "tied", "", ""]
    assert "(best)" in page.locator(f"{SUMMARY} td.best").first.text_content()
    equal = open_report("nothing").page
    assert equal.locator("td.best").count() == 0


def test_numbers_that_unfinished_flows_touch_are_marked(open_report):
    page = open_report("two_parameters").page
    first = page.locator(f"{SUMMARY} tbody tr").first.locator("td")
    assert "*" in first.nth(4).text_content()
    assert all("*" not in first.nth(place).text_content() for place in (1, 2, 3))
    assert "Not all flows finished" in page.locator(f"{SUMMARY} .caption").inner_text()
    assert "Not all flows finished" not in open_report("full").page.locator(f"{SUMMARY} .caption").inner_text()
    # a point where nothing finished stays in the table
    assert page.locator(f"{SUMMARY} tbody tr").nth(1).locator("td").nth(2).inner_text() == "–"


def test_every_row_can_be_shown_and_filtered(open_report):
    page = open_report("full").page
    page.locator(SUMMARY).get_by_role("button", name="all rows").click()
    assert len(column(page, 0)) == 4 * 4 * 2 * 4
    page.locator(SUMMARY).get_by_role("combobox", name="Traffic", exact=True).select_option("bulk")
    page.locator(SUMMARY).get_by_role("combobox", name="Metric", exact=True).select_option("drops")
    assert len(column(page, 0)) == 16 and set(column(page, 2)) == {"bulk"} and set(column(page, 3)) == {"drops"}


def test_the_summary_goes_into_a_file(open_report, tmp_path):
    page = open_report("full").page
    with page.expect_download() as download:
        page.locator(SUMMARY).get_by_role("button", name="data as CSV").click()
    download.value.save_as(tmp_path / "summary.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "summary.csv").read_text("utf-8"))))
    assert len(rows) == 128 and rows[0]["policy"] == "tcp" and rows[0]["senders"] == "0"
    assert float(rows[0]["ci95_low"]) < float(rows[0]["value"]) < float(rows[0]["ci95_high"])


def test_all_claims_of_a_reproduction_are_in_one_table_that_filters(open_report):
    page = open_report("reproduction").page
    table = "section:has(> h2:text('All claims'))"
    assert len(column(page, 0, f"{table} table")) == 32
    page.locator(table).get_by_role("combobox", name="Verdict", exact=True).select_option("known not to hold")
    page.locator(table).get_by_role("combobox", name="Paper", exact=True).select_option("pacing")
    page.locator(table).get_by_role("searchbox").fill("senders=4")
    assert column(page, 0, f"{table} table") == ["pacing-p1"]
    assert column(page, 4, f"{table} table") == ["6.5 ms"] and column(page, 5, f"{table} table") == ["6 ms ± 0.2 ms"]
    assert page.locator(table).get_by_role("status").inner_text() == "1 row of 32"


def test_an_experiment_is_drawn_when_it_is_opened(open_report):
    report = open_report("reproduction")
    assert report.page.locator("figure").count() == 0
    report.page.locator("summary", has_text="lanes-l1").click()
    report.page.locator(".chart").first.wait_for(state="attached")
    report.scroll_through()
    assert report.page.locator(".chart[data-drawn]").count() == 7
    report.page.locator("nav, section").get_by_role("link", name="pacing-p1").click()
    assert report.page.locator("#experiment-3[open]").count() == 1
    report.scroll_through()
    report.screenshot("reproduction-opened")


def test_differences_are_against_the_same_policy_of_the_first_run(open_report):
    page = open_report("comparison").page
    table = "section:has(> h2:text('Differences')) table"
    assert len(column(page, 0, table)) == 16
    # The second run was made up with 0.7 times the FCT of the first.
    assert set(column(page, 6, table)) == {"−30.0 %"}
    assert set(column(page, 7, table)) == {"differs"}
    difference = column(page, 5, table)[0]
    assert difference.startswith("−") and difference.count("−") == 3 and difference.endswith("]"), difference
    section = page.locator("section:has(> h2:text('Differences'))")
    section.get_by_role("combobox", name="Metric", exact=True).select_option("drops")
    assert set(column(page, 7, table)) <= {"overlap", "same"}
