"""The topology player plays, obeys the keyboard, and says what it shows."""

import pytest

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
    told = page.locator(".counts").all_inner_texts()
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
