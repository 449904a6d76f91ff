"""The topology player plays, obeys the keyboard, and says what it shows."""

import fixtures
import pytest
from page import assemble

STROKES = "[...document.querySelectorAll('.network')].map(svg => [...svg.querySelectorAll('line:not(.hit, .halo)')].map(it => it.getAttribute('stroke')).join())"


@pytest.fixture
def player(open_report):
    report = open_report("full")
    report.page.locator(".player").scroll_into_view_if_needed()
    report.page.locator(".network").first.wait_for()
    return report


def panels(page):
    return page.locator(".panel").evaluate_all("all => all.map(it => it.getAttribute('aria-label'))")


def step(page):
    return int(page.locator(".player").get_attribute("data-step"))


def test_policies_stand_side_by_side_in_step(player):
    page = player.page
    assert panels(page) == ["tcp", "mptcp", "lanes-deadline"]
    boxes = [panel.bounding_box() for panel in page.locator(".panel").all()]
    assert len({round(box["y"]) for box in boxes}) == 1 and len({round(box["x"]) for box in boxes}) == 3
    # Both directions of each of 12 links are drawn, apart from each other.
    lines = page.locator(".network").first.locator("line:not(.hit, .halo)").evaluate_all(
        "all => all.map(it => ['x1', 'y1', 'x2', 'y2'].map(name => Math.round(it.getAttribute(name))))")  # fmt: skip
    assert len(lines) == 24 and len({tuple(line) for line in lines}) == 24
    assert not any([line[2], line[3], line[0], line[1]] in lines for line in lines)


def test_the_legend_names_only_what_there_is(open_report, tmp_path):
    data = fixtures.full()
    for film in data["runs"][0]["films"]:
        film["switched"] = []
    path = tmp_path / "no-moves.html"
    path.write_text(assemble(data), "utf-8")
    page = open_report(path).page
    page.locator(".player").scroll_into_view_if_needed()
    page.locator(".network").first.wait_for()
    told = page.locator(".player").inner_text()
    assert "drops" in told and "null" not in told and "another lane" not in told


def test_playing_moves_the_clock_and_the_picture_until_pause(player):
    page = player.page
    page.get_by_role("combobox", name="Speed", exact=True).select_option("40 steps/s")
    before, clock = page.evaluate(STROKES), page.locator(".clock").inner_text()
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(700)
    page.get_by_role("button", name="Pause").click()
    reached = step(page)
    assert reached > 3
    assert page.evaluate(STROKES) != before and page.locator(".clock").inner_text() != clock
    page.wait_for_timeout(200)
    assert step(page) == reached
    player.screenshot("player")


def test_it_stops_at_the_end_and_begins_again(player):
    page = player.page
    page.get_by_role("combobox", name="Speed", exact=True).select_option("40 steps/s")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert step(page) == 118
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Play").wait_for()
    assert step(page) == 119
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(100)
    assert step(page) < 60


def test_the_keyboard_plays(player):
    page = player.page
    page.get_by_role("button", name="One step on").focus()
    for key, expected in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", 119),
        ("Home", 0),
        ("ArrowLeft", 0),
    ]:
        page.keyboard.press(key)
        assert step(page) == expected, key
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    assert step(page) == 1, "on the slider an arrow is one step, not two"
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Play").wait_for()
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()


def test_what_is_shown_is_told_in_words(player):
    page = player.page
    page.get_by_role("button", name="One step on").focus()
    page.keyboard.press("End")
    told = page.locator(".counts:not(.link-state)").all_inner_texts()
    assert "lane switches so far: 0" in told[0] and "lane switches so far: 14" in told[2]
    assert "query" in told[0] and "bulk 2" in told[0]
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "60 ms, step 120 of 120"
    assert page.locator(".network").first.get_attribute("aria-label").startswith("Network under tcp at 60 ms: flows")


def test_a_link_shows_its_course_with_a_cursor_that_follows(player):
    page = player.page
    name = page.locator(".player figure.figure h3")
    assert name.inner_text() == "Link leaf1 → h7 over time", "the longest queue first"
    hit = page.locator(".network").first.locator(".hit[data-link='0']")
    hit.dispatch_event("click")
    assert name.inner_text() == "Link leaf0 → spine0 over time"
    place = "new DOMMatrix(getComputedStyle(document.querySelector('.cursor')).transform).m41"
    at_start = page.evaluate(place)
    page.get_by_role("button", name="One step on").click()
    assert page.evaluate(place) > at_start
    page.locator(".player").get_by_role("combobox", name="Link", exact=True).select_option("leaf1 → h7")
    assert name.inner_text() == "Link leaf1 → h7 over time"
    assert page.locator(".player select").last.evaluate("it => it === document.activeElement")


def test_a_move_to_another_lane_is_marked_at_its_sender(player):
    page = player.page
    shown = "[...document.querySelectorAll('.network')].map(svg => [...svg.querySelectorAll('.moved')].map(it => it.getAttribute('visibility')).join())"
    nobody = page.evaluate(shown)
    assert all("visible" not in each for each in nobody)
    # flows of h0 move at 20 ms, which is the end of step 40, and again at 23 ms
    page.evaluate("document.querySelector('.player').player.go(39)")
    tcp, _, lanes = page.evaluate(shown)
    assert "visible" not in tcp
    assert [i for i, mark in enumerate(lanes.split(",")) if mark == "visible"] == [4], "the fifth node is h0"
    told = page.locator(".counts:not(.link-state)").all_inner_texts()
    assert "lane switches in this step: 1 (query 1)" in told[2] and "lane switches in this step: 0" in told[0]
    player.screenshot("player-moved")
    page.evaluate("document.querySelector('.player').player.go(40)")
    assert page.evaluate(shown) == nobody


def test_the_numbers_of_a_picked_link_are_told_without_a_pointer(player):
    page = player.page
    chosen = page.locator(".player").get_by_role("combobox", name="Link", exact=True)
    chosen.select_option("leaf1 → h7")
    before = page.locator(".link-state").all_inner_texts()
    assert len(before) == 3 and all(text.startswith("leaf1 → h7: ") for text in before)
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    after = page.locator(".link-state").all_inner_texts()
    assert after != before and "utilisation 100 %, queue at most" in after[0] and "flow" in after[0]


def test_arrows_scroll_a_table_and_leave_the_player_alone(player):
    page = player.page
    page.get_by_role("button", name="One step on").click()
    page.locator(".player details.data summary").click()
    table = page.locator(".player details.data .scroll")
    table.evaluate("it => { it.tabIndex = 0; it.focus(); }")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert step(page) == 1


def test_after_printing_the_screen_shows_its_step_again(player):
    page = player.page
    assert step(page) == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert step(page) > 0, "the busiest step is printed"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert step(page) == 0
    assert page.get_by_role("slider").input_value() == "0"


def test_names_of_hosts_stand_upright_at_the_top_and_at_the_bottom(browser, tmp_path, open_report):
    data = fixtures.full()
    topology = data["runs"][0]["topologies"][0]
    leaves = [i for i, node in enumerate(topology["nodes"]) if node["tier"] == 1]
    for i in range(10):
        topology["nodes"].append(
            {"name": f"long-generator{i}", "kind": "host", "tier": 0, "x": (i + 0.5) / 10, "y": 0, "count": 1}
        )
        end = len(topology["nodes"]) - 1
        topology["links"].append(
            {"from": end, "to": leaves[i % 2], "rate_bps": 10**9, "delay_ns": 1, "limit_bytes": None}
        )
    for node in topology["nodes"]:
        if node["kind"] == "switch":
            node["y"] = 0.33 if node["tier"] == 2 else 0.66
        elif node["name"].startswith("h"):
            node["name"] = f"pod0-host{node['name'][1:]}"
    path = tmp_path / "top.html"
    path.write_text(assemble(data), "utf-8")
    for width in (1280, 700, 400):
        report = open_report(path, viewport={"width": width, "height": 900})
        page = report.page
        page.locator(".player").scroll_into_view_if_needed()
        page.locator(".network").first.wait_for()
        names = page.locator(".network").first.locator("text:not(.inside)").evaluate_all(
            "all => all.map(it => { const box = it.getBoundingClientRect(); return [it.textContent, box.left, box.right, box.top, box.bottom]; })")  # fmt: skip
        picture = page.locator(".network").first.bounding_box()
        hosts = [each for each in names if "host" in each[0] or "generator" in each[0]]
        assert len(hosts) == 18, width
        for name, left, right, top, bottom in hosts:
            assert bottom - top > right - left, f"{name} lies at {width}"
            assert top >= picture["y"] - 1 and bottom <= picture["y"] + picture["height"] + 1, (
                f"{name} is cut at {width}"
            )
        for row in ("host", "generator"):
            sides = sorted(each[1:3] for each in hosts if row in each[0])
            assert all(a[1] <= b[0] + 1 for a, b in zip(sides, sides[1:])), f"names overlap at {width}"
        report.screenshot(f"player-top-row-{width}")


def test_pointing_at_a_link_tells_its_state(player):
    page = player.page
    page.get_by_role("button", name="One step on").focus()
    page.keyboard.press("End")
    line = page.locator(".network").first.locator(".hit").last
    line.hover(force=True)
    bubble = page.locator(".bubble").first.inner_text()
    assert (
        "leaf1 → h7" in bubble
        and "1 Gb/s, 2 µs, room for 128 KB" in bubble
        and "utilisation 100 %" in bubble
        and "flow" in bubble
    )


def test_a_hidden_policy_leaves_its_panel(player):
    page = player.page
    page.locator(".player .legend").get_by_role("button", name="mptcp").click()
    assert panels(page) == ["tcp", "lanes-deadline"]
    assert (
        page.locator("section:has(> h2:text('Summary')) ~ section .legend")
        .first.locator("[aria-pressed=false]")
        .inner_text()
        == "mptcp"
    )


def test_nothing_plays_by_itself_and_nothing_glides_for_who_wants_no_motion(open_report):
    page = open_report("full", reduced_motion="reduce").page
    page.locator(".player").scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    assert step(page) == 0 and page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    moving = "document.getAnimations().length"
    assert page.evaluate(moving) == 0


def test_the_picture_of_a_step_is_saved(player, tmp_path):
    page = player.page
    page.get_by_role("button", name="One step on").click()
    for kind, least in (("SVG", 3_000), ("PNG", 10_000)):
        with page.expect_download() as download:
            page.locator(".panel").first.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"headway-network-tcp-at-1-ms.{kind.lower()}"
        download.value.save_as(tmp_path / "picture")
        assert (tmp_path / "picture").stat().st_size > least
