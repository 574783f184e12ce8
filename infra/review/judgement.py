"""One stack reviewed against another revision: both rendered, compared and told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.review.comparison import compare
from infra.review.markdown import Incomplete, document, incomplete_document
from infra.review.revisions import NotRendered, Tree, checkout, render_in, repository, working_tree
from stacks.faults import Fault, InputError
from stacks.loader import shown


@dataclass(frozen=True)
class Review:
    """`is_safe` is false for every finding, and where nothing could be compared."""

    markdown: str
    is_safe: bool


def review_stack(stack: str, ref: str) -> Review:
    """Compare the working tree with `ref`.

    Raises:
        InputError: no repository, no such revision, or a stack that neither of the two has.
    """
    root = repository(Path.cwd())
    here = working_tree(root)
    with checkout(root, ref, here) as there:
        if not here.has(stack) and not there.has(stack):
            fix = "Name a stack that one of the two revisions has."
            raise InputError([Fault(shown(here.stacks), 0, "", f"no stack {stack!r}", "a stack to review", fix)])
        title = f"Stack {stack}: working tree against {ref}"
        with ThreadPoolExecutor() as both:
            before, after = both.map(lambda tree: _try(tree, stack), (there, here))
    missing = [side for side in (before, after) if isinstance(side, Incomplete)]
    if isinstance(before, Incomplete) or isinstance(after, Incomplete):
        return Review(incomplete_document(title, missing), is_safe=False)
    comparison = compare(before, after)
    return Review(document(title, comparison), is_safe=not comparison.findings)


def _try(tree: Tree, stack: str) -> list[dict[str, Any]] | Incomplete:
    try:
        return render_in(tree, stack)
    except NotRendered as error:
        return Incomplete(tree.label, str(error))
