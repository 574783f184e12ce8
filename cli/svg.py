"""A drawing as an element of a page: its ids its own, and told to those who do not see it."""

from __future__ import annotations

import io
import re

import matplotlib as mpl
from markupsafe import escape
from matplotlib.figure import Figure

_IDS = re.compile(r'(?<=\bid=")|(?<=href="#)|(?<=url\(#)')


def element(figure: Figure, name: str, title: str, description: str) -> str:
    """The figure as an `<svg>` element; the same text for the same data.

    Args:
        name: of no other drawing on the page: matplotlib's ids are the same in every drawing of one kind.
    """
    file = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "warmline"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    drawn = file.getvalue()
    opening, _, inside = _IDS.sub(f"{name}-", drawn[drawn.index("<svg") :]).partition(">")
    parts = {"title": title, "desc": description}
    labels = " ".join(f"{name}-{part}" for part in parts)
    told = "".join(f'\n <{part} id="{name}-{part}">{escape(words)}</{part}>' for part, words in parts.items())
    return f'{opening} role="img" aria-labelledby="{labels}">{told}{inside}'
