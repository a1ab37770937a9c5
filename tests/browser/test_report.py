"""What a person sees and does on a page."""

from __future__ import annotations

import io
from itertools import pairwise

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
FIRST = "#series-0 canvas"
ORANGE, SKY, GREEN = (230, 159, 0), (86, 180, 233), (0, 158, 115)  # of actions 0, 1 and 2


def picture(locator):
    """Return what is drawn on a part of a page, (height, width, 3)."""
    locator.scroll_into_view_if_needed()
    locator.page.wait_for_timeout(150)
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB")).astype(int)


def looks_like(pixels, color, within=12):
    return (np.abs(pixels - color) <= within).all(axis=-1)


def n_colors(pixels):
    """Return how many colours there are: one or two where nothing is drawn."""
    return len(np.unique(pixels @ [65536, 256, 1]))


def bar_colors(pixels, height):
    """Return where in a row of the action bar each of its colours is, as shares of the width of the plot."""
    row = pixels[height]
    left = np.flatnonzero(looks_like(row, ORANGE))[0]
    width = len(row) - left
    return {
        name: (np.flatnonzero(looks_like(row, color)) - left) / width
        for name, color in (("orange", ORANGE), ("sky", SKY), ("green", GREEN))
    }


def row_of_actions(pixels):
    """Return a height at which a picture of a series has the bar of actions: the first with much pure orange."""
    counts = looks_like(pixels, ORANGE).sum(axis=1)
    return int(np.flatnonzero(counts > 0.5 * counts.max())[0]) + 4


def point(page, selector, x, y=0.5):
    """Move the pointer to a place in an element, given as shares of its sides."""
    element = page.locator(selector)
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    place = box["x"] + x * box["width"], box["y"] + y * box["height"]
    page.mouse.move(*place)
    return place


def tip(page, section="#series"):
    return page.locator(f"{section} .tip").inner_text()


def test_bars_have_the_colours_of_actions_where_these_are(visit):
    pixels = picture(visit("series").page.locator(FIRST))
    found = bar_colors(pixels, row_of_actions(pixels))
    assert found["orange"].min() == 0
    assert 0.2 < found["orange"].max() < 0.28
    assert found["green"].min() == pytest.approx(0.5, abs=0.03)
    assert found["green"].max() == pytest.approx(0.75, abs=0.03)
    quarter, last = found["sky"][found["sky"] < 0.5], found["sky"][found["sky"] > 0.5]
    assert quarter.min() == pytest.approx(0.25, abs=0.03)
    assert last.min() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(
    ("name", "n_charts"), [("series", 3 + 1 + 3 + 4), ("frames", 2 + 3 + 3 + 6), ("clusters", 1 + 2 + 3)]
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn(visit, name, n_charts, scheme):
    page = visit(name, color_scheme=scheme).page
    charts = page.locator("canvas.sheet")
    assert charts.count() == n_charts
    for i in range(n_charts):
        assert n_colors(picture(charts.nth(i))) > 10


def test_dark_mode_is_dark_and_follows_the_system(visit):
    page = visit("series", color_scheme="dark").page
    dark = picture(page.locator(FIRST))
    assert np.median(dark) < 60
    page.emulate_media(color_scheme="light")
    light = picture(page.locator(FIRST))
    assert np.median(light) > 200
    assert looks_like(light, ORANGE).sum() == pytest.approx(looks_like(dark, ORANGE).sum(), rel=0.1)


def test_hovering_tells_step_action_state_and_probabilities(visit):
    page = visit("series").page
    point(page, "#series-2 canvas", 0.95)
    told = tip(page)
    for words in (
        "demo 2, step 1",
        "action 1, probability 0.55",
        "state 2, probability 0.55",
        "change of action: 0.00",
    ):
        assert words in told
    point(page, "h1", 0.5)
    assert tip(page) == ""


def step_at(page, x):
    """Return the step that is at a place of the first chart."""
    point(page, FIRST, x)
    return int(tip(page).split("step ")[1].split("\n")[0])


def test_zooming_and_panning_move_all_series(visit):
    page = visit("series").page
    before = [step_at(page, x) for x in (0.3, 0.9)]
    other = picture(page.locator("#series-1 canvas"))
    page.get_by_role("button", name="Zoom in").click()
    zoomed = [step_at(page, x) for x in (0.3, 0.9)]
    assert zoomed[1] - zoomed[0] == pytest.approx((before[1] - before[0]) / 1.5, abs=3)
    assert (picture(page.locator("#series-1 canvas")) != other).any()
    page.get_by_role("button", name="Later").click()
    assert step_at(page, 0.3) > zoomed[0]
    page.get_by_role("button", name="Show all steps").click()
    assert [step_at(page, x) for x in (0.3, 0.9)] == before


def test_dragging_moves_and_the_wheel_zooms_only_with_shift(visit):
    page = visit("series").page
    page.get_by_role("button", name="Zoom in").click()
    before = step_at(page, 0.5)
    x, y = point(page, FIRST, 0.5)
    page.mouse.down()
    page.mouse.move(x - 200, y, steps=4)
    page.mouse.up()
    assert step_at(page, 0.5) > before + 5
    span = step_at(page, 0.9) - step_at(page, 0.3)
    scrolled = page.evaluate("scrollY")
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Shift")
    page.wait_for_timeout(100)
    assert page.evaluate("scrollY") == scrolled
    assert step_at(page, 0.9) - step_at(page, 0.3) < span


def test_series_can_be_hidden_and_shown(visit):
    page = visit("series").page
    everything = picture(page.locator("#trajectories canvas.sheet"))
    page.get_by_role("checkbox", name="demo 1").uncheck()
    assert page.locator("#series-1").is_hidden()
    assert page.locator("#series-0").is_visible()
    assert (picture(page.locator("#trajectories canvas.sheet")) != everything).any()
    page.get_by_role("button", name="Show all recordings").click()
    assert page.locator("#series-1").is_visible()
    assert page.get_by_role("checkbox", name="demo 1").is_checked()


def test_everything_can_be_done_by_keyboard(visit):
    page = visit("series").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answers"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#series-0 canvas')"):
            break
    else:
        pytest.fail("the chart cannot be reached by tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "step 1\n" in tip(page)
    page.keyboard.press("+")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Escape")
    assert tip(page) == ""
    page.keyboard.press("0")


def test_a_trajectory_turns_by_keys_and_by_hand(visit):
    page = visit("series").page
    chart = page.locator("#trajectories canvas.sheet")
    views = [picture(chart)]
    chart.focus()
    page.keyboard.press("ArrowLeft")
    views.append(picture(chart))
    x, y = point(page, "#trajectories canvas.sheet", 0.5)
    page.mouse.down()
    page.mouse.move(x + 90, y + 40, steps=3)
    page.mouse.up()
    views.append(picture(chart))
    page.locator("#trajectories select").last.select_option("2")
    views.append(picture(chart))
    assert all((one != other).any() for one, other in pairwise(views))
    assert looks_like(views[3], ORANGE).sum() < looks_like(views[2], ORANGE).sum() / 2


def test_recorded_and_aligned_turn_together(visit):
    page = visit("frames").page
    recorded, aligned = (page.locator("#aligned canvas.sheet").nth(k) for k in (0, 1))
    before = picture(recorded), picture(aligned)
    assert (before[0] != before[1]).any()
    recorded.focus()
    page.keyboard.press("ArrowLeft")
    assert all((picture(chart) != view).any() for chart, view in zip((recorded, aligned), before, strict=True))
    page.locator("#aligned select").last.select_option("2")
    assert all(looks_like(picture(chart), GREEN).any() for chart in (recorded, aligned))
    recorded.focus()
    page.keyboard.press("n")
    assert tip(page, "#aligned").startswith("demo 0, step 0")


def test_a_slider_merges_and_splits_actions_in_all_charts(visit):
    page = visit("frames").page
    slider = page.locator("#aligned input[type=range]")
    assert (slider.get_attribute("min"), slider.get_attribute("max"), slider.input_value()) == ("1", "4", "3")
    assert page.locator("#aligned output").inner_text() == "3 actions (inferred)"
    inferred = picture(page.locator(FIRST))
    assert looks_like(inferred, GREEN).any()
    slider.focus()
    page.keyboard.press("Home")
    assert page.locator("#aligned output").inner_text() == "1 action"
    assert page.locator("#series output").inner_text() == "1 action"
    names = page.locator("#series .legend").first.locator("li:visible")
    # The largest of those that are merged.
    assert [text.split("\n")[0] for text in names.all_inner_texts()] == ["action 1"]
    point(page, FIRST, 0.9)
    assert "action 1\n" in tip(page)  # without a probability: that is of the inferred actions
    page.mouse.move(0, 0)
    one = picture(page.locator(FIRST))
    assert looks_like(one, SKY).sum() > looks_like(inferred, SKY).sum()
    page.locator("#series .cuts button").click()
    assert page.locator("#aligned output").inner_text() == "3 actions (inferred)"
    page.mouse.move(0, 0)
    assert looks_like(picture(page.locator(FIRST)), GREEN).sum() == looks_like(inferred, GREEN).sum()


@pytest.mark.parametrize(
    ("name", "section", "words"), [("series", "trajectories", "demo 0, step "), ("clusters", "embedding", "item ")]
)
def test_places_are_read_by_keys(visit, name, section, words):
    page = visit(name).page
    chart = page.locator(f"#{section} canvas.sheet")
    picture(chart)
    chart.focus()
    told = []
    for key in ("n", "n", "p", "Shift+N"):
        page.keyboard.press(key)
        told.append(tip(page, f"#{section}"))
    assert all(one.startswith(words) for one in told)
    assert told[0] == told[2] != told[1]
    assert told[3] not in told[:3]
    page.keyboard.press("Escape")
    assert tip(page, f"#{section}") == ""


def test_a_row_of_the_table_leads_to_its_segment(visit):
    page = visit("series").page
    page.locator("#segments summary").click()
    page.get_by_role("button", name="Show steps 90 to 119 of demo 2").click()
    page.wait_for_timeout(700)
    assert page.evaluate("document.activeElement.closest('.one').id") == "series-2"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") < 900
    assert step_at(page, 0.3) > 60


def test_a_matrix_tells_its_pairs(visit):
    page = visit("clusters").page
    point(page, "#similarity canvas.sheet", 0.2, 0.2)
    assert "(cluster 1)" in tip(page, "#similarity")
    page.locator("#similarity canvas.sheet").focus()
    page.keyboard.press("ArrowRight")
    assert "item" in tip(page, "#similarity")


def test_traces_tell_every_chain(visit):
    page = visit("series").page
    point(page, "#chains canvas.sheet >> nth=1", 0.5)
    assert "chain 0: 4" in tip(page, "#chains")
    assert "chain 1: 4" in tip(page, "#chains")
    page.locator("#chains canvas.sheet").first.focus()
    page.keyboard.press("ArrowRight")
    assert "chain 0: below " in tip(page, "#chains")


@pytest.mark.parametrize("name", ["series", "clusters", "long"])
def test_a_phone_shows_it_all_without_scrolling_sideways(visit, name):
    page = visit(name, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert n_colors(picture(page.locator("canvas.sheet").first)) > 10
    sizes = page.locator(".controls button").evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert min(sizes) >= 32


def test_a_finger_points(visit):
    page = visit("series", **PHONE).page
    page.locator(FIRST).tap()
    assert "demo 0, step" in tip(page)


def test_print_is_light_and_complete_even_in_dark_mode(visit, tmp_path):
    page = visit("series", color_scheme="dark").page
    page.evaluate("""() => {
      window.drawn = [];
      addEventListener("beforeprint", () => document.querySelectorAll("canvas.sheet").forEach((canvas) => {
        const blank = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
        window.drawn.push(canvas.toDataURL() !== blank.toDataURL());
      }));
    }""")
    page.pdf(path=tmp_path / "report.pdf")
    drawn = page.evaluate("window.drawn")
    assert len(drawn) == 11
    assert all(drawn)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()


AFTER_A_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"


def test_a_long_run_opens_in_three_seconds_and_moves_at_once(visit, pages):
    assert pages["long"].stat().st_size < 10_000_000
    page = visit("long").page
    opened = [page.evaluate(AFTER_A_FRAME)]
    while min(opened) > 3000 and len(opened) < 3:  # a machine that is busy with other things may need another try
        page.reload()
        opened.append(page.evaluate(AFTER_A_FRAME))
    assert min(opened) < 3000
    page.locator("#series-0").scroll_into_view_if_needed()
    seconds = page.evaluate("""async () => {
      const before = performance.now();
      document.querySelector("[aria-label='Zoom in']").click();
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return (performance.now() - before) / 1000;
    }""")
    assert seconds < 1


@pytest.mark.parametrize("width", [360, 1200])
def test_slices_are_in_proportion_and_have_letters(visit, width):
    page = visit("image", viewport={"width": width, "height": 900}).page
    slices = page.locator("#slices .edged")
    assert slices.count() == 3
    for i, (letters, ratio) in enumerate([("LRAP", 10 / 6), ("LRSI", 10 / 8), ("PASI", 6 / 8)]):
        one = slices.nth(i)
        assert "".join(one.locator("span").all_inner_texts()) == letters
        box = one.locator("img").bounding_box()
        assert box["width"] / box["height"] == pytest.approx(ratio, rel=0.05)
        assert box["x"] + box["width"] < width
        assert one.locator("img").evaluate("image => image.naturalWidth") > 1
        left, right = (one.locator(f".{edge}").bounding_box()["x"] for edge in ("left", "right"))
        assert left < box["x"] < right
