from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stacks.faults import InputError
from stacks.yaml_text import MAX_DIGITS, dotted, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30:45", "12:30:45"),
        ("2027-10-29 20:00", "2027-10-29 20:00"),
        ("no", "no"),
        ("on", "on"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("010", 10),
        ("2.10", Decimal("2.10")),
        ("1e3", Decimal(1000)),
        ("true", True),
        ("~", None),
        ('"7"', "7"),
        (".nan", ".nan"),
        ("9" * (MAX_DIGITS + 1), "9" * (MAX_DIGITS + 1)),
        ("1e999999999", "1e999999999"),
    ],
)
def test_scalars_as_their_writer_meant_them(text: str, value: Any) -> None:
    read = parse(f"a: {text}\n", "f").data["a"]
    assert (read, type(read)) == (value, type(value))


def test_keys_are_names() -> None:
    assert parse("8: x\non: y\n", "f").data == {"8": "x", "on": "y"}


def test_every_duplicate_key_with_its_line() -> None:
    with pytest.raises(InputError) as raised:
        parse("a: 1\nb: {c: 1, c: 2}\na: 2\n", "stacks/x.yaml")
    assert [str(fault).split(", expected")[0] for fault in raised.value.faults] == [
        "stacks/x.yaml:2: b.c: got the key a second time (first on line 2)",
        "stacks/x.yaml:3: a: got the key a second time (first on line 1)",
    ]


def test_lines_of_what_is_there_and_of_what_is_not() -> None:
    document = parse("a:\n  - b: 1\n    c: 2\n", "f")
    assert document.line(("a", 0, "c")) == 3
    assert document.line(("a", 0, "missing")) == 2
    assert document.line(("nowhere",)) == 1


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    ["a: [", "a: 1\n---\nb: 1\n", "a: &a [*a]\n", "? [a]\n: b\n", "\0", "a:\n\tb", "[" * 5000, BOMB, "a: *nowhere"],
)
def test_refused_without_a_traceback(text: str) -> None:
    with pytest.raises(InputError) as raised:
        parse(text, "f")
    assert all(str(fault).startswith("f:") and fault.fix for fault in raised.value.faults)


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("a: [", True),
        ("a: {b: 1, c\n", True),
        ("a: 'x", True),
        ('a: "x\nb: 1\n\n', True),
        ("events:\n  - name: a\n    st", True),
        ("k: v\nx\n", True),
        ("a: ]\nb: 1\n", False),
        ("a: b: c\n", False),
        ("a:\n\tb", False),
        ("a: 'it's'\nb: 2\n", False),
        ("a: 1\n b: 2\n", False),
        ("a: 1\nb: [1\nc: 2\n", False),
        ("a: 1\n---\nb: 1\n", False),
        ("a: *nowhere", False),
    ],
)
def test_a_file_is_cut_short_only_where_the_parser_stopped_at_its_end(text: str, is_cut: bool) -> None:
    with pytest.raises(InputError) as raised:
        parse(text, "f")
    (fault,) = raised.value.faults
    assert ("cut short" in fault.fix) == is_cut
    assert fault.fix.startswith("Mend the syntax")


def test_aliases_that_nest_deeper_than_the_parser_are_refused() -> None:
    lines, inner = [], "1"
    for name in "abcdefgh":
        lines.append(f"{name}: &{name} {'[' * 150}{inner}{']' * 150}")
        inner = f"*{name}"
    for text in (lines[0], "\n".join(lines)):
        with pytest.raises(InputError, match="more than 50 levels"):
            parse(text, "f")


def test_dotted() -> None:
    assert dotted(("events", 0, "start")) == "events[0].start"
    assert dotted(()) == ""


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_what_was_written_is_read(data: Any) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    again = parse(text, "f").data
    assert again == data


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        parse(text, "f")


FILES = sorted((Path(__file__).parents[2] / "stacks").rglob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_both_parsers_read_the_same_in_whole_files_and_in_cut_ones(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, their types and lines: libyaml's parser is taken for its speed alone."""
    text = path.read_text(encoding="utf-8")
    for part in (text, *(text[: len(text) * eighth // 8] for eighth in range(1, 8))):
        fast = outcome(part)
        with monkeypatch.context() as patched:
            patched.setattr("stacks.yaml_text._FAST", yaml.SafeLoader)
            assert outcome(part) == fast


def outcome(text: str) -> object:
    try:
        document = parse(text, "f")
    except InputError as error:
        return error.faults
    return document.data, document.lines
