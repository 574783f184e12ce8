"""Text of a change as Markdown: what is read is what is there."""

from __future__ import annotations

import pytest

from infra.review.markdown import code, escaped


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x00", "\x1b"])
def test_nothing_is_invisible_or_turned_around(char: str) -> None:
    assert code(f"a{char}b") == "`a\ufffdb`"
    assert escaped(f"a{char}b") == "a\ufffdb"
