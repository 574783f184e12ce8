"""For all tests: a busy machine is no failure, so no example has a deadline.

Where `CI` is set the same examples are tried each time: main is green or red by what was changed. Anywhere else they
are new ones, and what they find is kept as a test.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("warmline", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("warmline")
