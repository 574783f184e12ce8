"""Patterns as a person would say them: nobody should have to read a regular expression to mend a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks.faults import InputError
from tests.core.stack_files import calendar, stack, swap


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("  support-bot:", "  Support_Bot:", "a lower-case letter, then lower-case letters"),
        ("version: 0.33.0", "version: v0.33.0", "a version, as 0.33.0"),
        ("s3://warmline-weights/support-8b", "gs://warmline-weights/support-8b", "s3://bucket/path"),
        ("http://127.0.0.1:9090", "127.0.0.1:9090", "an address, as http://"),
        ("name: support-8b", "name: support 8b", "letters, digits, dots"),
        ("max_num_seqs: 64", 'max_num_seqs: 64\n      args: {--seed: "1"}', "a flag without its dashes"),
    ],
)
def test_a_pattern_is_said_in_words(tmp_path: Path, before: str, after: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        stack(tmp_path, platform=swap(before, after), events=calendar())
    assert f"expected {expected}" in str(raised.value.faults[0])
