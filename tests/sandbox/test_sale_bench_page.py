"""The committed comparison is the page its own data makes."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.places import REPOSITORY
from sandbox.sale.bench_page import page

RESULTS = REPOSITORY / "docs" / "benchmarks"


def test_the_page_is_made_from_the_json_beside_it(tmp_path: Path) -> None:
    data = list(RESULTS.glob("event-scale*.json"))
    assert data
    for path in data:
        shutil.copy(path, tmp_path)
        assert path.with_suffix(".svg").is_file()
    assert page(tmp_path).read_text() == (RESULTS / "event.md").read_text()
