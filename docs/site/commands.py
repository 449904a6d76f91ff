"""Reference pages of the command line, made from what `headway … --help` prints."""

import re
import subprocess
from pathlib import Path

# The program, whatever the file that is asked is called.
NAME = "headway"

# A command in the list of a help text: two spaces, its name, its first line.
LISTED = re.compile(r"^  ([a-z][a-z-]*)\s{2,}\S")


def help_of(program: Path, words: list[str]) -> str:
    """Return what a command prints about itself."""
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{NAME} {' '.join(words)} --help fails: {done.stderr}")
    return done.stdout


def listed(text: str) -> list[str]:
    """The commands that a help text lists, without `help`."""
    found, inside = [], False
    for line in text.splitlines():
        if line == "Commands:":
            inside = True
        elif inside and not line.strip():
            break
        elif inside and (match := LISTED.match(line)) and match.group(1) != "help":
            found.append(match.group(1))
    return found


def pages(program: Path) -> dict[str, str]:
    """Return the pages by the names of their files, `index.md` first; one for each command, its own commands on it."""
    root = help_of(program, [])
    names = listed(root)
    if not names:
        raise RuntimeError(f"{program} lists no commands:\n{root}")
    rows = "\n".join(f"| [{NAME} {name}]({name}.md) | {summary(help_of(program, [name]))} |" for name in names)
    index = [
        "# Every command",
        f"This reference is what the commands print themselves: `{NAME} COMMAND --help`. How values of a scenario are "
        "changed, and the exit codes, are in [command line](../../scenario-file/command-line.md).",
        f"| command | does |\n|---|---|\n{rows}",
        block(root),
        "```{toctree}\n:hidden:\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```",
    ]
    found = {"index.md": "\n\n".join(index) + "\n"}
    for name in names:
        found[f"{name}.md"] = "\n\n".join(sections(program, [name], 1)) + "\n"
    return found


def sections(program: Path, words: list[str], depth: int) -> list[str]:
    text = help_of(program, words)
    found = [f"{'#' * depth} {NAME} {' '.join(words)}", block(text)]
    for name in listed(text):
        found += sections(program, [*words, name], depth + 1)
    return found


def summary(text: str) -> str:
    """The first sentence of a help text, which is its first paragraph."""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def block(text: str) -> str:
    if "```" in text:
        raise ValueError("a help text with a fence in it")
    return f"```text\n{text.rstrip()}\n```"
