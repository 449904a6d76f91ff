"""What holds for every report, whatever it is of."""


def charts(page):
    """Of each chart that the page shows: its heading, whether it is drawn, its lines and texts, its text alternative."""
    return page.evaluate(
        """() => [...document.querySelectorAll("figure.figure")].filter(it => it.offsetParent).map(figure => {
            const chart = figure.querySelector(".chart");
            return {
                title: figure.querySelector("h3, h4, h5").textContent, drawn: chart.dataset.drawn === "true",
                paths: chart.querySelectorAll("svg path").length, texts: chart.querySelectorAll("svg text").length,
                label: chart.getAttribute("aria-label") ?? "", role: chart.getAttribute("role"),
            };
        })"""
    )


def check_drawn(page):
    """Every chart has lines and tick labels, and a text alternative. Gives their headings."""
    found = charts(page)
    for chart in found:
        assert chart["drawn"], chart
        assert chart["paths"] >= 4, chart
        assert chart["texts"] >= 3, chart
        assert chart["role"] == "img", chart
        assert len(chart["label"]) > 15, chart
    return [chart["title"] for chart in found]


def check_structure(page):
    """Landmarks, one h1, no level of headings left out, every control and picture named, every id once."""
    problems = page.evaluate(
        """() => {
            const problems = [];
            for (const landmark of ["main", "header", "nav", "footer"]) {
                if (document.querySelectorAll(landmark).length !== 1) problems.push(`not one ${landmark}`);
            }
            let level = 0;
            for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
                if (!heading.offsetParent && heading.checkVisibility && !heading.checkVisibility()) continue;
                const here = Number(heading.tagName[1]);
                if (here > level + 1) problems.push(`h${here} after h${level}: ${heading.textContent}`);
                if (!heading.textContent.trim()) problems.push("empty heading");
                level = here;
            }
            if (document.querySelectorAll("h1").length !== 1) problems.push("not one h1");
            const named = (element) => element.textContent.trim() || element.getAttribute("aria-label") || element.closest("label")?.textContent.trim();
            for (const control of document.querySelectorAll("button, select, input, summary, a, pre[tabindex], [role=group], [role=img]")) {
                if (!named(control)) problems.push(`no name: ${control.outerHTML.slice(0, 120)}`);
            }
            const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
            for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) problems.push(`twice: ${id}`);
            for (const element of document.querySelectorAll("[aria-labelledby]")) {
                if (!document.getElementById(element.getAttribute("aria-labelledby"))) problems.push(`no label: ${element.tagName}`);
            }
            for (const link of document.querySelectorAll("a[href^='#']")) {
                if (!document.getElementById(link.getAttribute("href").slice(1))) problems.push(`leads nowhere: ${link.href}`);
            }
            return problems;
        }"""
    )
    assert problems == []


def check_fits(page):
    """Nothing is wider than the window; what must be is inside something that scrolls."""
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


def check_contrast(page, least=4.5):
    """Text against its ground (WCAG 2.2, 1.4.3): 4.5, of what is shown and not struck through."""
    poor = page.evaluate(
        """(least) => {
            const parse = (text) => text.match(/[\\d.]+/g).map(Number);
            const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
                .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
            const ground = (element) => {
                for (let each = element; each; each = each.parentElement) {
                    const colour = parse(getComputedStyle(each).backgroundColor);
                    if (colour.length < 4 || colour[3] === 1) return colour;
                }
                return [255, 255, 255];
            };
            const poor = [];
            for (const element of document.querySelectorAll("body *")) {
                const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
                if (!own || element.closest("svg, .off-screen, .skip, [aria-pressed=false].entry, option, script, noscript") || !element.checkVisibility()) continue;
                const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
                const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (contrast < least) poor.push(`${contrast.toFixed(2)} ${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`);
            }
            return poor;
        }""",
        least,
    )
    assert poor == []
