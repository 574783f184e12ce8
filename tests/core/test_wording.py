"""Faults as a person would say them: nobody should have to read a regular expression to mend a file."""

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


DROP, CORRECT = "Drop the quotes.", "Correct it."


@pytest.mark.parametrize(
    ("before", "after", "fix"),
    [
        ("rps: 5.3", 'rps: "5.3"', DROP),
        ("rps: 5.3", "rps: '5'", DROP),
        ("rps: 5.3", 'rps: "5,3"', CORRECT),
        ("rps: 5.3", 'rps: "1e999999999"', CORRECT),
        ("max_nodes: 18", 'max_nodes: "18"', DROP),
        ("max_nodes: 18", 'max_nodes: "18.5"', CORRECT),
        ("max_nodes: 18", 'max_nodes: "true"', CORRECT),
        ("[g6e.2xlarge]", '[x]\n    gpus_per_node: "8"', DROP),
        ("weights_s: 120", "weights_s: '120'", DROP),
        ("prometheus:", 'production: "false"\nprometheus:', DROP),
        ("prometheus:", 'production: "no"\nprometheus:', CORRECT),
        ("ttft_p95_ms: 600", "ttft_p95_ms: 600 ms", CORRECT),
    ],
)
def test_a_number_in_quotes_is_told_to_drop_them_where_that_is_enough(
    tmp_path: Path, before: str, after: str, fix: str
) -> None:
    with pytest.raises(InputError) as raised:
        stack(tmp_path, platform=swap(before, after), events=calendar())
    assert [fault.fix for fault in raised.value.faults] == [fix]
