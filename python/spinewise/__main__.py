"""``python -m spinewise``."""

import sys

from spinewise.cli import main

sys.exit(main())
