"""Each revision asked through its own code: a git worktree of it, and a Python of its own inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stacks.faults import Fault, InputError
from stacks.folders import PLATFORM_FILE, shown, stacks_root

ANSWER_TIMEOUT_S = 120
"""A render takes seconds; on a busy machine it may take a few times as long."""

TRACEBACK = "Traceback (most recent call last)"

HANDED_ON = {"HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "VIRTUAL_ENV"}
"""All that a revision's code gets of the environment: it is code under review, which has no use for credentials, and
`PYTHONPATH` would put other code before it."""


OF_ANOTHER_GIT = {
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    *("GIT_PREFIX", "GIT_WORK_TREE"),
}
"""What git sets for its hooks; there it would name the repository the hook is for. Source: git rev-parse(1)."""


@dataclass(frozen=True)
class Tree:
    """One revision's files. `stacks` is where its stacks are."""

    label: str
    folder: Path
    stacks: Path

    def has(self, stack: str) -> bool:
        return (self.stacks / stack / PLATFORM_FILE).is_file()


class NotRendered(Exception):  # noqa: N818 - it names the state
    """A revision's code or its files did not render; the text says why."""


def repository(start: Path) -> Path:
    """The root of the git checkout around `start`.

    Raises:
        InputError: there is none.
    """
    done = _git(start, "rev-parse", "--show-toplevel")
    if done.returncode:
        fix = "Run it inside the repository."
        raise InputError([Fault(str(start), 0, "", "no git checkout", "a folder of one", fix)])
    return Path(done.stdout.strip())


def working_tree(root: Path) -> Tree:
    """What is checked out, uncommitted changes included.

    Raises:
        InputError: the stacks are not in this repository.
    """
    stacks = stacks_root().resolve()
    if not stacks.is_relative_to(root.resolve()):
        fix = "Unset WARMLINE_STACKS_DIR: what is not in git has no revisions."
        raise InputError([Fault(str(stacks), 0, "", "stacks outside of the repository", f"a folder in {root}", fix)])
    return Tree("working tree", root, stacks)


@contextmanager
def both_revisions(stack: str, ref: str) -> Iterator[tuple[Tree, Tree]]:
    """`ref` and the working tree around the working directory, for as long as the context lasts.

    Raises:
        InputError: no repository, no such revision, or a stack that neither of the two has.
    """
    root = repository(Path.cwd())
    here = working_tree(root)
    with checkout(root, ref, here) as there:
        if not here.has(stack) and not there.has(stack):
            fix = "Name a stack that one of the two revisions has."
            raise InputError([Fault(shown(here.stacks), 0, "", f"no stack {stack!r}", "a stack to review", fix)])
        yield there, here


@contextmanager
def checkout(root: Path, ref: str, here: Tree) -> Iterator[Tree]:
    """A worktree of `ref` for as long as the context lasts.

    Raises:
        InputError: `ref` names no commit.
    """
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if found.returncode:
        fix = "Name a branch, tag or commit that `git log` knows; fetch it first if it is remote."
        raise InputError([Fault(str(root), 0, "--against", repr(ref), "a revision", fix)])
    with tempfile.TemporaryDirectory(prefix="warmline-review-") as folder:
        tree = Path(folder) / "tree"
        added = _git(root, "worktree", "add", "--detach", "--quiet", str(tree), found.stdout.strip())
        try:
            if added.returncode:
                raise NotRendered(f"git worktree: {added.stderr.strip()}")
            yield Tree(ref, tree, tree / here.stacks.relative_to(root.resolve()))
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))


def render_in(tree: Tree, stack: str) -> list[dict[str, Any]]:
    """The objects of a stack as the code in `tree` makes them; none where the tree has no such stack.

    Raises:
        NotRendered: its code failed, or its files are faulty.
    """
    if not tree.has(stack):
        return []
    printed = answer_in(tree, ["-m", "infra.render", "-s", stack], ["infra/render.py"])
    try:
        objects: list[dict[str, Any]] = printed["objects"]
    except (KeyError, TypeError):
        raise NotRendered("infra.render printed something that is not a render") from None
    return objects


def answer_in(tree: Tree, arguments: list[str], needed: list[str], ends: tuple[int, ...] = (0,)) -> Any:
    """The JSON that Python prints, run with `arguments` in the folder of `tree`.

    Args:
        needed: files without which Python would go on to the installed packages, which are another revision's.
        ends: exit codes that come with an answer. Code that fails ends with 1 too, and with a traceback.

    Raises:
        NotRendered: it failed, did not end, or printed something else.
    """
    for name in needed:
        if not (tree.folder / name).is_file():
            raise NotRendered(f"this revision has no {name}")
    environment = {name: text for name, text in os.environ.items() if name in HANDED_ON}
    environment |= {"WARMLINE_STACKS_DIR": str(tree.stacks), "PULUMI_ERROR_OUTPUT_STRING": "1"}
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree.folder,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotRendered(f"no answer after {ANSWER_TIMEOUT_S} s") from None
    if done.returncode and (done.returncode not in ends or TRACEBACK in done.stderr):
        raise NotRendered(_reason(done.stderr, tree))
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise NotRendered("it printed something that is not JSON") from None


def _reason(stderr: str, tree: Tree) -> str:
    """Faults as they are; of a traceback the last line, which is what happened."""
    text = stderr.strip().replace(f"{tree.folder}/", "") or "it said nothing"
    return text.splitlines()[-1] if TRACEBACK in text else text


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name not in OF_ANOTHER_GIT}
    # A folder of hooks may be one of the revision's own, and would run with all of the environment.
    command = ["git", "-C", str(folder), "-c", f"core.hooksPath={os.devnull}", *arguments]
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise InputError([Fault("git", 0, "", "no such program", "git on PATH", "Install it.")]) from None
