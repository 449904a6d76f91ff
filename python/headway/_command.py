"""The ``headway`` command."""

from __future__ import annotations

import signal
import sys

from headway import _native


def main() -> int:
    """Run the command with the process' arguments.

    Returns
    -------
    int
        Its exit code: 0 fine, 1 a check failed, 2 usage or scenario, 3 environment, 130 interrupted.
    """
    # Ctrl-C is the command's: Python's handler would wait for bytecode that is not run meanwhile
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(["headway", *sys.argv[1:]])
