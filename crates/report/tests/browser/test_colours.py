"""Colours differ for the colour-blind, stand out from the ground, and utilisation's steps are even.

Colour blindness by Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
IEEE TVCG 15(6), 2009, doi:10.1109/TVCG.2009.113, matrices of severity 1.0. Differences by CIEDE2000 (ISO/CIE 11664-6).
"""

import itertools
import math

import pytest
from page import ASSETS

MACHADO = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# sRGB to XYZ, D65 (IEC 61966-2-1)
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)
LEAST = 11  # a difference of 10 is seen at a glance; of 1, just so


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour):
    channels = (
        [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] if isinstance(colour, str) else [c / 255 for c in colour]
    )
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lab(light):
    def f(t):
        return t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29

    x, y, z = (f(part / white) for part, white in zip(product(XYZ, light), WHITE))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(first, second):
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    angle = (
        h1 + h2
        if c1 * c2 == 0
        else (h1 + h2) / 2
        if abs(h1 - h2) <= 180
        else (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    )
    cos = lambda factor, offset: math.cos(math.radians(factor * angle + offset))  # noqa: E731
    t = 1 - 0.17 * cos(1, -30) + 0.24 * cos(2, 0) + 0.32 * cos(3, 6) - 0.2 * cos(4, -63)
    rotation = (
        -2
        * math.sqrt(chroma**7 / (chroma**7 + 25**7))
        * math.sin(math.radians(60 * math.exp(-(((angle - 275) / 25) ** 2))))
    )
    sl = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    dl, dc, dh = (l2 - l1) / sl, (c2 - c1) / (1 + 0.045 * chroma), hue / (1 + 0.015 * chroma * t)
    return math.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)


def test_the_formula_gives_the_published_differences():
    # Sharma, Wu, Dalal, "The CIEDE2000 Color-Difference Formula", 2005, table 1, pairs 1, 7, 17 and 25.
    for first, second, expected in [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (73, 25, -18), 27.1492), ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]:  # fmt: skip
        assert abs(difference(first, second) - expected) < 1e-4


@pytest.fixture(scope="module")
def themes(browser):
    """What theme.js says, asked of theme.js."""
    source = "".join((ASSETS / f"app/{name}.js").read_text("utf-8") for name in ("format", "dom", "model", "theme"))
    page = browser.new_page()
    scales = """; const scales = {};
        for (const name of ["light", "dark"]) {
            appearance.chosen = name;
            scales[name] = Array.from({ length: 11 }, (_, i) => utilisationColour(i / 10).match(/\\d+/g).map(Number));
        }
        return { themes: THEMES, scales };"""
    found = page.evaluate(f"() => {{ {source} {scales} }}")
    page.close()
    return found


@pytest.mark.parametrize("vision", MACHADO)
@pytest.mark.parametrize("name", ["light", "dark"])
def test_any_two_policies_have_colours_that_differ(themes, name, vision):
    seen = {
        colour: lab([min(1, max(0, c)) for c in product(MACHADO[vision], linear(colour))])
        for colour in themes["themes"][name]["policies"]
    }
    assert len(seen) == 8
    least = min((difference(seen[a], seen[b]), a, b) for a, b in itertools.combinations(seen, 2))
    assert least[0] >= LEAST, least


@pytest.mark.parametrize("name", ["light", "dark"])
def test_lines_stand_out_from_the_ground(themes, name):
    # WCAG 2.2, 1.4.11: 3 for what is needed to understand a picture.
    theme = themes["themes"][name]
    luminance = lambda colour: product(XYZ, linear(colour))[1]  # noqa: E731
    for colour in [*theme["policies"], theme["alarm"], theme["muted"], theme["node"]]:
        high, low = sorted([luminance(colour), luminance(theme["ground"])], reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3, colour


@pytest.mark.parametrize("vision", MACHADO)
@pytest.mark.parametrize("name", ["light", "dark"])
def test_utilisation_goes_evenly_away_from_the_ground(themes, name, vision):
    lightness = [
        lab([min(1, max(0, c)) for c in product(MACHADO[vision], linear(colour))])[0]
        for colour in themes["scales"][name]
    ]
    sign = 1 if name == "dark" else -1
    steps = [sign * (after - before) for before, after in itertools.pairwise(lightness)]
    assert min(steps) > 0, "fuller links are always further from the ground"
    if vision == "normal":
        assert max(steps) / min(steps) < 1.6
