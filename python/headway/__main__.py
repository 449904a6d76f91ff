"""``python -m headway`` is the ``headway`` command."""

import sys

from headway._command import main

sys.exit(main())
