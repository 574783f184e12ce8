"""Every check on every moment: what each found, and which could not look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prescale.preflight.checks.table import CHECKS, OfService, OfStack, Word
from prescale.preflight.finding import Finding, Found, NotChecked, Report
from prescale.preflight.scene import NoTarget, Scene
from prescale.preflight.seen import NotSeen

Said = Finding | NotChecked


def judge(scenes: Iterable[Scene]) -> Report:
    """What is found at any of the moments, each thing once, in the order of the checks."""
    given = list(scenes)
    said = dict.fromkeys(one for check in CHECKS for scene in given for one in _of_check(check, scene))
    return Report(
        tuple(one for one in said if isinstance(one, Finding)),
        tuple(one for one in said if isinstance(one, NotChecked)),
    )


def _of_check(check: OfStack | OfService, scene: Scene) -> Iterator[Said]:
    if isinstance(check, OfStack):
        yield from _said(check.name, "", check.judge(scene))
        return
    for target in scene.targets:
        yield from _said(check.name, target.name, check.judge(target))


def _said(check: str, service: str, words: Word) -> Iterator[Said]:
    try:
        for one in words:
            if isinstance(one, Found):
                yield Finding(check, one.service or service, one.what, one.got, one.expected, one.fix)
            else:
                yield NotChecked(check, service, one.because)
    except NotSeen as unseen:
        yield NotChecked(check, "", str(unseen))  # the same of every service
    except NoTarget:
        return
