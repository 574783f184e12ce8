"""The `workloads.yaml` that `warmline size init` writes: all fields of the six sections, most to be filled in."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from capacity.replicas import decimal_text
from stacks.faults import Fault, InputError
from stacks.folders import shown, stack_folder
from stacks.loader import load_platform
from stacks.requests import WORKLOADS_FILE

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def write_template(stack: str) -> str:
    """Write it into the stack's folder, with one request for each service.

    Returns: the path as a person would type it.

    Raises:
        InputError: the file is there already, or the platform has faults.
    """
    path = stack_folder(stack) / WORKLOADS_FILE
    text = template_text(stack)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fix = "Edit it, or move it away first."
        raise InputError([Fault(shown(path), 0, "", "a file that is there", "none to overwrite", fix)]) from None
    except OSError as error:
        got = str(error.strerror).lower()
        raise InputError([Fault(shown(path), 0, "", got, "a folder to write to", "Correct its permissions.")]) from None
    return shown(path)


def template_text(stack: str) -> str:
    """The text; it can be planned at once where every service has a usual load."""
    environment = Environment(  # YAML, so HTML's escapes have no place in it
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )
    template = environment.get_template("workloads.yaml.j2")
    return template.render(stack=stack, services=load_platform(stack).services, plain=decimal_text)
