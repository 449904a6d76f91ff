"""Builds the documentation site: `python docs/site/build.py --headway target/debug/headway --out target/site`.

Warnings are errors: a link that leads nowhere, a page in no index, a formula that is none.
"""

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import stage  # noqa: E402  (beside this file)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument(
        "--headway", type=Path, default=ROOT / "target/debug/headway", help="the command that documents itself"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "target/site", help="the folder of the site")
    parser.add_argument("--stage", type=Path, help="the folder of the staged sources [default: OUT-source]")
    options = parser.parse_args()
    if not options.headway.is_file():
        parser.error(f"{options.headway} is not there: build it first (cargo build), or name another with --headway")
    sources = options.stage or options.out.with_name(options.out.name + "-source")
    stage.stage(ROOT, sources, options.headway.resolve())
    cache = options.out.with_name(options.out.name + "-cache")
    arguments = ["-q", "-W", "--keep-going", "-E", "-j", "auto", "-c", str(HERE), "-d", str(cache), "-b", "html"]
    return build_main([*arguments, str(sources), str(options.out)])


if __name__ == "__main__":
    sys.exit(main())
