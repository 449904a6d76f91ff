"""Charts obey their choosers, zoom together, and give their data and pictures away."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest
from checks import check_drawn
from conftest import wait_until


def figure(page, title):
    return page.locator("figure.figure").filter(has=page.locator("h3", has_text=title))


def drawing(chart):
    return chart.locator(".chart svg").first.evaluate("it => it.outerHTML")


def saved(page, chart, kind, path):
    with page.expect_download() as download:
        chart.get_by_role("button", name=kind, exact=True).click()
    download.value.save_as(path)
    return path


def test_metric_traffic_axis_and_fixed_value_are_chosen(open_report):
    report = open_report("two_parameters")
    report.scroll_through()
    chart = figure(report.page, "against")
    before = drawing(chart)
    chart.get_by_role("combobox", name="queue", exact=True).select_option("red")
    assert chart.locator("h3").inner_text() == "mean FCT, query against load (queue = red)" and drawing(chart) != before
    chart.get_by_role("combobox", name="Metric", exact=True).select_option("p99 FCT")
    chart.get_by_role("combobox", name="x axis", exact=True).select_option("queue")
    assert chart.locator("h3").inner_text() == "p99 FCT, query against queue (load = 0.1)"
    assert {"drop-tail", "codel", "red"} <= set(chart.locator("svg text").all_text_contents())


def test_runs_with_other_sweeps_stand_on_one_page(open_report):
    report = open_report("unlike")
    report.scroll_through()
    chart = figure(report.page, "against")
    assert chart.locator("h3").inner_text() == "mean FCT, query against senders"
    chart.get_by_role("combobox", name="x axis", exact=True).select_option("load")
    assert chart.locator("h3").inner_text() == "mean FCT, query against load (queue = drop-tail)"
    assert {"0.1", "0.9"} <= set(chart.locator("svg text").all_text_contents())
    chart.get_by_role("combobox", name="queue", exact=True).select_option("not swept")
    assert chart.locator("h3").inner_text() == "mean FCT, query against load"
    check_drawn(report.page)


def test_values_of_the_sweep_stand_in_the_order_of_their_size(open_report):
    report = open_report("unordered")
    report.scroll_through()
    chart = figure(report.page, "against buffer")
    texts = [text for text in chart.locator("svg text").all_text_contents() if text.endswith(("KB", "MB"))]
    assert texts == ["16KB", "32KB", "64KB", "256KB", "1MB"]
    check_drawn(report.page)


def test_bands_and_published_values_are_there(open_report, tmp_path):
    report = open_report("full")
    report.scroll_through()
    chart = figure(report.page, "against senders")
    filled = "all => all.filter(it => it.getAttribute('fill-opacity') || it.getAttribute('opacity')).length"
    assert chart.locator(".chart svg path").evaluate_all(filled) >= 4
    assert "thesis, figure 4.7" in chart.locator(".caption").inner_text()
    rows = list(
        csv.DictReader(io.StringIO(saved(report.page, chart, "data as CSV", tmp_path / "a.csv").read_text("utf-8")))
    )
    assert len(rows) == 16 + 3 and [row["published"] for row in rows[16:]] == ["thesis, figure 4.7"] * 3


def test_the_tail_is_shown_on_logarithmic_axes(open_report):
    report = open_report("full")
    report.scroll_through()
    chart = figure(report.page, " of FCT")
    before = drawing(chart)
    chart.get_by_role("button", name="tail").click()
    assert chart.locator("h3").inner_text().startswith("Tail of FCT") and drawing(chart) != before
    assert {"100 %", "10 %", "1 %", "0.1 %"} <= set(chart.locator("svg text").all_text_contents())


def test_hiding_a_policy_hides_it_in_every_chart(open_report):
    report = open_report("full")
    report.scroll_through()
    charts = [figure(report.page, name) for name in ("against senders", "CDF", "Slowdown")]
    before = [chart.locator(".chart svg path").count() for chart in charts]
    charts[0].locator(".legend").get_by_role("button", name="mptcp").click()
    assert all(chart.locator(".chart svg path").count() < count for chart, count in zip(charts, before))
    assert charts[1].locator(".legend button[aria-pressed=false]").inner_text() == "mptcp"
    assert "mptcp" not in charts[1].locator(".chart").get_attribute("aria-label")
    charts[1].locator(".legend").get_by_role("button", name="mptcp").press("Enter")
    assert [chart.locator(".chart svg path").count() for chart in charts] == before


def test_series_zoom_together(open_report):
    page = (report := open_report("full")).page
    report.scroll_through()
    first, second = figure(page, "Queue of"), figure(page, "Goodput of")
    first.scroll_into_view_if_needed()
    before = drawing(second)
    box = first.locator(".chart").bounding_box()
    # The handle at the right end of the bar below the chart goes to the middle.
    right, low = box["x"] + box["width"] - 24, box["y"] + box["height"] - 8 - 11
    page.mouse.move(right, low)
    page.mouse.down()
    page.mouse.move(right - box["width"] / 2, low, steps=8)
    page.mouse.up()
    wait_until(page, "true")
    page.wait_for_timeout(300)
    assert drawing(second) != before
    assert not {"30 ms"} & set(second.locator("svg text").all_text_contents())


def test_entities_are_chosen(open_report):
    page = (report := open_report("full")).page
    report.scroll_through()
    chart = figure(page, "Queue of")
    before = chart.locator(".chart svg path").count()
    chart.get_by_role("checkbox", name="leaf1>h7").check()
    assert chart.locator("h3").inner_text() == "Queue of leaf0>spine0, leaf1>h7"
    assert chart.locator(".chart svg path").count() > before
    chart.get_by_role("checkbox", name="leaf0>spine0").uncheck()
    assert chart.locator("h3").inner_text() == "Queue of leaf1>h7"


@pytest.mark.parametrize("title", ["against senders", "CDF", "Slowdown", "Queue of", "Link"])
def test_a_chart_is_saved_as_picture_and_as_data(open_report, tmp_path, title):
    page = (report := open_report("full")).page
    report.scroll_through()
    chart = figure(page, title)
    picture = ElementTree.parse(saved(page, chart, "SVG", tmp_path / "a.svg")).getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any(title.split()[0] in (text or "") for text in texts), "its heading"
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}path"))) > 4
    png = saved(page, chart, "PNG", tmp_path / "a.png").read_bytes()
    assert png.startswith(b"\x89PNG") and int.from_bytes(png[16:20], "big") == 1920 and len(png) > 10_000
    rows = list(csv.reader(io.StringIO(saved(page, chart, "data as CSV", tmp_path / "a.csv").read_text("utf-8"))))
    assert len(rows) > 10 and all(len(row) == len(rows[0]) for row in rows)


def test_a_pointer_shows_values_with_their_units(open_report):
    page = (report := open_report("full")).page
    report.scroll_through()
    chart = figure(page, "against senders")
    box = chart.locator(".chart").bounding_box()
    chart.scroll_into_view_if_needed()
    chart.locator(".chart").hover(position={"x": box["width"] - 30, "y": 150})
    tip = page.locator(".tip").first
    tip.wait_for()
    assert (
        tip.inner_text().startswith("senders = 6") and "ms" in tip.inner_text() and "published, tcp" in tip.inner_text()
    )


def test_the_data_of_a_chart_is_a_table_for_who_cannot_see_it(open_report):
    page = (report := open_report("full")).page
    report.scroll_through()
    chart = figure(page, "CDF")
    chart.get_by_text("data as a table").click()
    assert chart.locator("thead th").all_inner_texts() == ["policy", "point", "traffic", "fct_ns", "share_at_most"]
    assert chart.locator("tbody tr").count() == 300 and "further row" in chart.locator(".data").inner_text()
    label = chart.locator(".chart").get_attribute("aria-label")
    assert label.startswith("tcp: median") and "p99" in label


def test_time_series_zoom_by_keyboard(open_report):
    report = open_report("full")
    report.scroll_through()
    page = report.page
    charts = page.locator("section", has=page.locator("h2", has_text="Time series")).locator("figure.figure")
    before = [drawing(chart) for chart in charts.all()]
    assert len(before) == 3
    zoom = page.get_by_role("group", name="Time shown in the time series")
    said = zoom.get_by_role("status")

    def press(name):
        zoom.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press("Enter")
        page.wait_for_timeout(300)
        return said.inner_text()

    # 400 samples, 0.1 ms apart: from 0 to 39.9 ms
    assert press("Zoom in") == "9.98 ms to 29.9 ms"
    closer = [drawing(chart) for chart in charts.all()]
    assert all(a != b for a, b in zip(before, closer)), "all charts of the section"
    assert press("Later") == "20.0 ms to 39.9 ms"
    assert press("Later") == "20.0 ms to 39.9 ms", "there is nothing later"
    assert press("Earlier") == "9.98 ms to 29.9 ms"
    assert [drawing(chart) for chart in charts.all()] == closer
    # what is picked does not undo it
    charts.first.get_by_role("checkbox").first.click()
    page.wait_for_timeout(100)
    bounds = "it => it.closest('figure').chart.instance.getOption().dataZoom.map(each => [each.start, each.end])"
    assert charts.first.locator(".chart").evaluate(bounds) == [[25, 75], [25, 75]]
    press("Zoom out")
    press("All of the time")
    assert charts.first.locator(".chart").evaluate(bounds) == [[0, 100], [0, 100]]
