"""For all tests: a busy machine is no failure, so no example has a deadline.

Where `CI` is set the same examples are tried each time: main is green or red by what was changed. Anywhere else they
are new ones, and what they find is kept as a test.

The events of the shipped stacks are to come, whenever a test is run: where no cluster has a clock of its own, it is a
day long before them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from whenever import Instant, patch_current_time

settings.register_profile("warmline", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("warmline")

TODAY = Instant.from_utc(2026, 11, 30, 12)


@pytest.fixture(autouse=True)
def today(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("sandbox"):
        yield
        return
    with patch_current_time(TODAY, keep_ticking=True):
        yield
