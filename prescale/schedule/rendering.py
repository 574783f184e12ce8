"""Files from templates/, which are neither HTML nor, in one case, without `{{ }}` of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def render(template: str, **values: Any) -> str:
    """The text of one template; its marks are `[[ ]]` and `[% %]`, since GitHub's are `${{ }}`."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - no HTML
    )
    return environment.get_template(template).render(**values)
