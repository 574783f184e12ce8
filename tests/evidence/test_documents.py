"""A key that stands twice in one object: noticed wherever it is, and never where it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from cli.main import warmline
from evidence.documents import SaidTwice, documents
from evidence.files import read
from tests.evidence import made

RESULT = json.dumps(made.vllm_serve())
TWICE = RESULT.replace('"completed":', '"duration": 1.0, "completed":', 1)

NAMES = st.one_of(st.sampled_from(["a", "b", "a:b", ":", '":', "\u0131", "\n"]), st.text(max_size=4))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(), st.just("12:30"), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES), st.booleans(), st.sampled_from([None, 2]))
def test_keys_that_stand_once_are_read_as_they_are(data: dict[str, Any], as_ascii: bool, indent: int | None) -> None:
    text = json.dumps(data, ensure_ascii=as_ascii, indent=indent)
    (found,) = documents(text.encode())
    assert json.dumps(found.data) == json.dumps(json.loads(text))


@given(NAMES, VALUES, VALUES, st.lists(st.sampled_from(["[%s]", '{"in": %s}', '[1, {"x": "y:z"}, %s]']), max_size=3))
@example("a", "\u003a\u003a", 1, [])
@example("deep", 1, 2, ["[%s]"] * 300)
def test_a_key_twice_is_noticed_at_any_depth(name: str, first: Any, second: Any, around: list[str]) -> None:
    inner = f"{{{json.dumps(name)}: {json.dumps(first)}, {json.dumps(name)} :{json.dumps(second)}}}"
    for one in around:
        inner = one % inner
    with pytest.raises(SaidTwice, match="stands twice in one object: which one holds"):
        documents(f'{{"results": {inner}}}'.encode())


def test_a_colon_that_is_written_otherwise_hides_none() -> None:
    r"""`\u003a` in the value that stays makes up for the colon that goes."""
    with pytest.raises(SaidTwice, match="'a' stands twice"):
        documents(rb'{"a": 1, "a": "\u003a"}')


def test_the_file_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(RESULT)
    (tmp_path / "twice.json").write_text(TWICE)
    found = read([tmp_path])
    assert [len(sweep.points) for sweep in found.sweeps] == [1]
    reason = "'duration' stands twice in one object: which one holds?"
    assert [(Path(one.file).name, one.reason) for one in found.refused] == [("twice.json", reason)]
    result = CliRunner().invoke(warmline, ["bench", "read", str(tmp_path)])
    assert result.exit_code == 1
    assert reason in " ".join(result.output.split())


def test_of_lines_the_one_is_refused(tmp_path: Path) -> None:
    lines = [json.dumps(made.sglang(request_rate=rate)) for rate in (1.0, 2.0, 4.0)]
    for place, number in ((0, 1), (1, 2), (2, 3)):
        path = tmp_path / f"{number}" / "runs.jsonl"
        path.parent.mkdir()
        spoiled = [line.replace("{", '{"completed": 3, ', 1) if at == place else line for at, line in enumerate(lines)]
        path.write_text("\n".join(spoiled))
        found = read([path])
        assert sum(len(sweep.points) for sweep in found.sweeps) == 2
        ((file, reason),) = [(one.file, one.reason) for one in found.refused]
        assert (file, "'completed' stands twice" in reason) == (f"{path}: line {number}", True)
