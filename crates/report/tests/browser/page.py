"""Reports of made-up data: the assets put together as `headway` does it."""

import json
import re
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"

# The order in which the page's script is put together; the Rust side has the same list.
APP = [
    "format", "dom", "model", "theme", "chart", "tables", "overview", "sweep", "distributions", "series", "network",
    "player", "main",
]  # fmt: skip


def assemble(data: dict) -> str:
    """The whole file for `data`."""
    parts = {
        "title": data["title"].replace("&", "&amp;").replace("<", "&lt;"),
        "style": (ASSETS / "style.css").read_text("utf-8"),
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        "echarts": (ASSETS / "echarts/echarts.min.js").read_text("utf-8"),
        "app": "\n".join((ASSETS / f"app/{name}.js").read_text("utf-8") for name in APP),
    }
    # In one pass: what is put in may have such words, too.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], (ASSETS / "page.html").read_text("utf-8"))
