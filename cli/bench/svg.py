"""A drawing as an element of a page: its ids its own, and told to those who do not see it."""

from __future__ import annotations

import re

from markupsafe import escape

_IDS = re.compile(r'(?<=\bid=")|(?<=href="#)|(?<=url\(#)')


def element(drawn: str, name: str, title: str, description: str) -> str:
    """The `<svg>` element of a file.

    Args:
        drawn: the file, as matplotlib writes it: its ids are the same in every drawing of one kind.
        name: of no other drawing on the page.
    """
    opening, _, inside = _IDS.sub(f"{name}-", drawn[drawn.index("<svg") :]).partition(">")
    parts = {"title": title, "desc": description}
    labels = " ".join(f"{name}-{part}" for part in parts)
    told = "".join(f'\n <{part} id="{name}-{part}">{escape(words)}</{part}>' for part, words in parts.items())
    return f'{opening} role="img" aria-labelledby="{labels}">{told}{inside}'
