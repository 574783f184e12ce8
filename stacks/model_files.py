"""A model's own files, as its publisher wrote them: config.json, and the index of its safetensors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from stacks.faults import Fault, InputError
from stacks.files import MAX_BYTES, Unreadable, text_of
from stacks.folders import shown

# The index names every tensor: nine megabytes for the largest models.
INDEX_BYTES = 32 * 2**20


@dataclass(frozen=True)
class ModelFiles:
    """What was named of one candidate. `config_file` is for faults."""

    config: dict[str, Any] | None
    config_file: str
    weights_bytes: int | None


def model_files(config: Path | None, index: Path | None) -> ModelFiles:
    """Read both.

    Raises:
        InputError: one is no JSON of its kind.
    """
    return ModelFiles(
        config=None if config is None else _object(config),
        config_file="" if config is None else shown(config),
        weights_bytes=None if index is None else _total_size(index),
    )


def _object(path: Path, most: int = MAX_BYTES) -> dict[str, Any]:
    try:
        data = json.loads(text_of(path, most), parse_float=Decimal, parse_constant=str)
    except Unreadable as error:
        raise _wrong(path, 0, "", str(error), "a readable JSON file") from None
    except RecursionError:
        raise _wrong(path, 0, "", "brackets in brackets without end", "a JSON file") from None
    except json.JSONDecodeError as error:
        raise _wrong(path, error.lineno, "", error.msg.lower(), "a JSON file") from None
    except ValueError:  # a number of more digits than Python reads
        raise _wrong(path, 0, "", "a number without end", "a JSON file") from None
    if not isinstance(data, dict):
        raise _wrong(path, 1, "", f"a {type(data).__name__}", "a JSON object")
    return data


def _total_size(path: Path) -> int:
    metadata = _object(path, INDEX_BYTES).get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    # Some tools write it as a number with a point.
    if isinstance(size, Decimal) and size == size.to_integral_value():
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < 2**60:
        raise _wrong(path, 0, "metadata.total_size", str(size)[:40], "the bytes of all tensors")
    return size


def _wrong(path: Path, line: int, place: str, got: str, expected: str) -> InputError:
    return InputError([Fault(shown(path), line, place, got, expected, "Take the file from the model's repository.")])
