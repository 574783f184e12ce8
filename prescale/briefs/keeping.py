"""Briefs kept on this machine from one run to the next, as Python keeps what it has compiled.

A kept one is used as long as every file that it was made from has the same text, on the same day of the calendar, by
the same code of ours, and for a quarter of an hour: what it rests on besides, such as the rules of time zones, comes
with other packages. Whatever is wrong with one, it is as if there were none, and the files are read.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from whenever import Instant, ZonedDateTime

import capacity
import prescale
import stacks
from prescale.briefs.brief import Brief
from prescale.runs import whole_file
from stacks.files import Unreadable, digest_of, text_of

if TYPE_CHECKING:
    from stacks.loader import Stack

KEPT_FOR_S = 900
# Beyond that, whose stack it is has gone.
FORGOTTEN_AFTER_S = 86400
# No file of a stack is read that is as large as this.
MOST_BYTES = 2**22

# Where the rules are that a brief comes from.
_SOURCES = [Path(package.__path__[0]) for package in (capacity, prescale, stacks)]


class _Kept(msgspec.Struct, frozen=True):
    """Made at `since`, in Unix seconds, on `day`. `texts` are digests by file; what is `there` has only to exist."""

    code: str
    since: int
    day: str
    texts: dict[str, str]
    there: list[str]
    brief: Brief


def recall(folder: Path, now: Instant) -> Brief | None:
    """The brief kept of the stack in `folder`, if it still is what its files say."""
    try:
        kept = _read(_file(folder))
        is_of_now = 0 <= now.timestamp() - kept.since < KEPT_FOR_S and kept.day == _day(now, kept.brief.zone)
        # A module may go while it is looked at, and an editor's lock of one is a link to nothing.
        is_used = is_of_now and kept.code == _code() and _are_the_same(kept)
    except (OSError, RuntimeError, ValueError, ArithmeticError, msgspec.MsgspecError):
        return None
    return kept.brief if is_used else None


def keep(stack: Stack, brief: Brief, now: Instant) -> None:
    """Keep what was made of `stack` just now. Where nothing can be written, nothing is kept."""
    with suppress(OSError, RuntimeError):
        evidence = {stack.folder / service.capacity.evidence for service in stack.platform.services.values()}
        kept = _Kept(
            code=_code(),
            since=int(now.timestamp()),
            day=_day(now, brief.zone),
            texts={os.path.abspath(path): text for path, text in stack.digests.items()},  # noqa: PTH100 - links stay
            there=sorted(map(os.path.abspath, evidence)),
            brief=brief,
        )
        file = _file(stack.folder)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.write(file, msgspec.json.encode(kept, enc_hook=_told).decode(), 0o600)
        _forget_those_long_before(file)


def place() -> Path:
    """Where they are kept.

    Source: XDG Base Directory Specification 0.8 (XDG_CACHE_HOME).

    Raises:
        RuntimeError: whoever runs this has no home.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "warmline" / "briefs"


def _file(folder: Path) -> Path:
    return place() / f"{digest_of(os.path.realpath(folder))[:16]}.json"


def _read(file: Path) -> _Kept:
    with file.open("rb") as opened:
        about = os.fstat(opened.fileno())
        # A brief decides on floors: only what this very user has written counts.
        if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(file)
        return msgspec.json.decode(opened.read(), type=_Kept, dec_hook=_understood)


def _are_the_same(kept: _Kept) -> bool:
    try:
        texts = all(digest_of(text_of(Path(path), MOST_BYTES)) == digest for path, digest in kept.texts.items())
    except Unreadable:
        return False
    return texts and all(os.path.exists(path) for path in kept.there)  # noqa: PTH110 - Path's raises for odd names


def _day(now: Instant, zone: str) -> str:
    return str(now.to_tz(zone).date())


def _code() -> str:
    """Another one as soon as any module of ours is another; read from the folders alone."""
    modules = (entry for package in _SOURCES for entry in _modules(package))
    seen = sorted((entry.path, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in modules)
    return hashlib.sha256(repr((sys.version, seen)).encode()).hexdigest()


def _modules(package: os.PathLike[str]) -> Iterator[os.DirEntry[str]]:
    entries = list(os.scandir(package))
    # In a checkout the folders of stacks lie beside our modules, with all their evidence.
    if any(entry.name == "__init__.py" for entry in entries):
        for entry in entries:
            if entry.is_dir():
                yield from _modules(entry)
            elif entry.name.endswith(".py"):
                yield entry


def _forget_those_long_before(file: Path) -> None:
    oldest = file.stat().st_mtime - FORGOTTEN_AFTER_S
    for entry in os.scandir(file.parent):
        if entry.stat().st_mtime < oldest:
            Path(entry).unlink(missing_ok=True)


def _told(value: Any) -> str | tuple[int, int]:
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    if isinstance(value, Instant | ZonedDateTime):
        return value.format_iso()
    raise NotImplementedError(type(value))


def _understood(kind: type, value: Any) -> Any:
    if kind is Fraction:
        numerator, denominator = value
        return Fraction(numerator, denominator)
    if kind in {Instant, ZonedDateTime}:
        return kind.parse_iso(value)
    raise NotImplementedError(kind)
