"""What pydantic found, in the words of a `Fault`: got, expected, and the fix."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stacks.faults import Fault
from stacks.yaml_text import Document, dotted, plain

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# Patterns of `stacks.field_types` and of the specs as a person would say them, by a piece that only they have.
PATTERNS = {
    r"[0-5]\d$": "a time of day, as 20:00",
    "^[A-Z]{2}$": "a code of two capital letters, as IN",
    r"^\d{4}-\d{2}-\d{2}$": "a date, as 2026-07-20",
    r"^[a-z]{2}(-[a-z]+)+": "an AWS Region, as us-east-1",
    r"^[a-z0-9-]+\.[a-z0-9-]+$": "an instance type, as g6e.2xlarge",
    r"^\d{4}-\d{2}-\d{2}": "a date and time, as 2027-10-29 20:00",
    r"^[a-z]([-a-z0-9]*": "a lower-case letter, then lower-case letters, digits and hyphens",
    r"^[a-z0-9]([-a-z0-9]*": "lower-case letters, digits and hyphens",
    r"^[0-9]+\.[0-9]+": "a version, as 0.33.0",
    "^s3://": "s3://bucket/path",
    "^https?://": "an address, as http://prometheus.monitoring:9090",
    "^/": "an absolute path",
    r"^[A-Za-z0-9]": "letters, digits, dots, hyphens and underscores, the first a letter or digit",
    r"^[a-z][a-z0-9-]*$": "a flag without its dashes, as max-model-len",
    "{1,2}%": "a whole number or a percentage, as 1 or 25%",
    "@sha256:": "an image by digest, as repository@sha256:<64 hex digits>",
}


def short(text: str) -> str:
    """`text`, cut where it would fill the screen."""
    return text if len(text) <= 80 else f"{text[:77]}..."


def validation_fault(file: str, document: Document, item: ErrorDetails) -> Fault:
    """One of pydantic's errors as a fault of `file`."""
    place = tuple(part for part in item["loc"] if part != "[key]")
    context: dict[str, Any] = item.get("ctx") or {}
    if "fix" in context:
        place += tuple(int(part) if part.isdigit() else part for part in context["path"])
        got, expected, fix = context["got"], context["expected"], context["fix"]
    else:
        got, expected, fix = _in_words(item)
    return Fault(file, document.line(place), dotted(place), short(got), expected, fix)


def _in_words(item: ErrorDetails) -> tuple[str, str, str]:
    """Return pydantic's error as (got, expected, fix)."""
    kind, value = item["type"], item["input"]
    context: dict[str, Any] = item.get("ctx") or {}
    if kind == "missing":
        return "nothing", "a value", "Add the field."
    if kind == "extra_forbidden":
        return f"the unknown field {item['loc'][-1]}", "a field of the reference", "Remove it or correct its name."
    if kind == "string_type" and value is not None and not isinstance(value, dict | list):
        # The number's own digits may differ from what was written (0123, 1e10), so they are not repeated as the fix.
        name = "true/false value" if isinstance(value, bool) else "number"
        return f"the {name} {str(value).lower()}", "text", "Put it in quotes."
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        said = next((text for piece, text in PATTERNS.items() if piece in pattern), f"text that matches {pattern}")
        return _shown(value), said, "Correct the text."
    if kind == "literal_error":
        return _shown(value), context["expected"], "Choose one of these."
    is_quoted = isinstance(value, str) and type(plain(value)) in _UNQUOTED.get(kind, ())
    return _shown(value), _expected(item["msg"], context), "Drop the quotes." if is_quoted else "Correct it."


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value) if isinstance(value, str) else str(value)


# pydantic's kinds of error about a text, and what the text would have to be without its quotes.
_UNQUOTED: dict[str, tuple[type, ...]] = {"int_type": (int,), "is_instance_of": (int, Decimal), "bool_type": (bool,)}

# Beginnings of pydantic's messages, after "Input should be ", that a person would put otherwise.
_OTHERWISE = {
    "a valid dictionary": "a mapping",
    "an instance of Decimal": "a number",
    "a valid integer": "a whole number",
    "a valid boolean": "true or false",
    "a valid ": "a ",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "above",
    "less than": "below",
}


def _expected(message: str, context: dict[str, Any]) -> str:
    if "min_length" in context:
        return f"at least {context['min_length']}"
    text = message.removeprefix("Input should be ")
    for beginning, said in _OTHERWISE.items():
        if text.startswith(beginning):
            return said if beginning == "a valid dictionary" else said + text.removeprefix(beginning)
    return text
