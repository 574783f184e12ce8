"""The runner of a stack: as platform.yaml has it, or as a command says it."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from stacks.faults import Fault, InputError
from stacks.spec import Platform, Runner
from stacks.wording import validation_fault
from stacks.yaml_text import Document


def settings(stack: str, platform: Platform, **said: Any) -> Runner:
    """What was `said`, and what the platform's `runner` says of the rest.

    Raises:
        InputError: one of them is wrong, or there is no image.
    """
    given = {name: value for name, value in said.items() if value is not None}
    if "every_min" in given:
        given["every_min"] = int(given["every_min"])
    whole = {**(platform.runner.model_dump() if platform.runner else {}), **given}
    if "image" not in whole:
        fix = f"Say --image, or set runner.image in the platform.yaml of stack {stack}."
        raise InputError([Fault("--image", 0, "", "nothing", "an image by digest, with warmline in it", fix)])
    try:
        return Runner.model_validate(whole)
    except ValidationError as error:
        faults = [validation_fault("the runner's options", Document(None, {}), item) for item in error.errors()]
        raise InputError(faults) from None
