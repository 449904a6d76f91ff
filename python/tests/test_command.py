from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import headway

COMMAND = str(Path(sysconfig.get_path("scripts")) / "headway")


def command(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False, **settings
    )


def test_the_command_is_installed() -> None:
    done = command("list")
    assert done.returncode == 0
    # what a scenario is about goes on in lines that begin with blanks
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "] == headway.bundled()
    assert command("--version").stdout.strip() == f"headway {headway.__version__}"


def test_exit_codes_are_those_of_the_program(tmp_path: Path) -> None:
    assert command("nonsense").returncode == 2
    assert "Usage: headway" in command("nonsense").stderr
    assert command("--help").returncode == 0
    missing = command("check", "not-there.toml")
    assert missing.returncode == 2
    assert missing.stderr.startswith("error: ")
    # a folder that cannot be written is the environment's fault
    (tmp_path / "file").write_text("")
    blocked = command("run", "example-incast", "--quick", "--out", str(tmp_path / "file" / "out"))
    assert blocked.returncode == 3


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    shell = f"'{COMMAND}' schema; echo code $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"{{ {shell}; }} | head -c 1"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "code 0\n"


def test_ctrl_c_ends_the_command_with_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [COMMAND, "run", "lanes-l7-queue-buildup", "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    parts = tmp_path / "out" / "parts"
    until = time.monotonic() + 50
    while not (parts.exists() and any(parts.iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headway", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == command("--version").stdout
