"""Kubernetes objects held to the vendored schemas: every fault of an object, with its path."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from infra.schemas.extract import KEDA_FILE, KUBERNETES_FILE
from stacks.yaml_text import dotted


@cache
def _validators() -> dict[str, Draft202012Validator]:
    kinds: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for path in (KUBERNETES_FILE, KEDA_FILE):
        content = json.loads(path.read_text(encoding="utf-8"))
        kinds |= content["kinds"]
        definitions |= content["definitions"]
    return {kind: Draft202012Validator({**schema, "definitions": definitions}) for kind, schema in kinds.items()}


def faults(manifest: dict[str, Any]) -> list[str]:
    """What is wrong with one object, as `Deployment serving/support-bot: spec.template: ...`; sorted, empty if nothing.

    A kind without a vendored schema is a fault: what is not checked must not look as if it were.
    """
    kind = f"{manifest.get('apiVersion')}/{manifest.get('kind')}"
    validator = _validators().get(kind)
    if validator is None:
        return [f"{identity(manifest)}: no schema for {kind}. Add it to infra/schemas/extract.py."]
    found = sorted((error for whole in validator.iter_errors(manifest) for error in _leaves(whole)), key=_place)
    return [f"{identity(manifest)}: {dotted(_place(error)) or 'object'}: {_words(error)}" for error in found]


def identity(manifest: dict[str, Any]) -> str:
    """`Deployment serving/support-bot`."""
    metadata = manifest.get("metadata") or {}
    name = "/".join(filter(None, [metadata.get("namespace"), metadata.get("name")])) or "without a name"
    return f"{manifest.get('kind')} {name}"


def _leaves(error: ValidationError) -> list[ValidationError]:
    nearest = best_match([error])
    return [nearest] if isinstance(nearest, ValidationError) else [error]


def _place(error: ValidationError) -> tuple[str | int, ...]:
    return tuple(error.absolute_path)


def _words(error: ValidationError) -> str:
    """The validator's message without a whole object pasted into it."""
    got, schema, wanted = (cast("Any", part) for part in (error.instance, error.schema, error.validator_value))
    if error.validator == "additionalProperties":
        unknown = sorted(key for key in got if key not in schema.get("properties", {}))
        return f"unknown field {', '.join(unknown)}"
    if error.validator == "required":
        return "missing " + ", ".join(sorted(key for key in wanted if key not in got))
    if error.validator == "type":
        expected = " or ".join(wanted) if isinstance(wanted, list) else wanted
        return f"got {type(got).__name__}, expected {expected}"
    return str(error.message)
