"""Ways to spoil a calendar file: as editors, disks, merges and people do, and as somebody does who means harm."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Mutate = Callable[[Random, str], str | bytes]
"""From the valid text to what is in the file instead."""

BOMB = 30
"""Levels of aliases, each of two: bounded, so that a loader that follows them all is slow and not the machine's end."""

TYPES = (
    *(
        "null",
        "~",
        "[]",
        "{}",
        "true",
        "-1",
        "0",
        "1e999",
        ".inf",
        ".nan",
        "9" * 23,
        "'text'",
        '""',
        "[1, 2]",
        "{a: b}",
    ),
    *("2027-10-29", "!!binary aGk=", "!!python/object:os.system x", "*none", "&a x", "|\n  x"),
)
CONTROL = ("\x00", "\x07", "\x1b[31m", "\x7f", "\u0085", "\u2028", "\ufeff", "\u202e", "\U0001f525")


def cut(dice: Random, text: str) -> bytes:
    data = text.encode()
    return data[: dice.randrange(len(data))]


def line_gone(dice: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    del lines[dice.randrange(len(lines))]
    return "".join(lines)


def line_twice(dice: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at = dice.randrange(len(lines))
    return "".join([*lines[: at + 1], *lines[at:]])


def lines_swapped(dice: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    one, other = dice.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def other_type(dice: Random, text: str) -> str:
    line = dice.choice(re.findall(r"^.*: \S.*$", text, re.MULTILINE))
    return text.replace(line, f"{line.partition(':')[0]}: {dice.choice(TYPES)}", 1)


def times_swapped(dice: Random, text: str) -> str:
    return re.sub(r"start: (.*)\n(\s*)end: (.*)\n", r"start: \3\n\2end: \1\n", text, count=dice.randint(1, 3))


def other_day(dice: Random, text: str) -> str:
    days = re.findall(r"\d{4}-\d\d-\d\d", text)
    day = f"{dice.choice([1999, 2026, 2027, 2200])}-{dice.randint(0, 13):02}-{dice.randint(0, 32):02}"
    return text.replace(dice.choice(days), day, dice.randint(1, 4))


def byte_flipped(dice: Random, text: str) -> bytes:
    data = bytearray(text.encode())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def noise(dice: Random, text: str) -> bytes:
    data = text.encode()
    at = dice.randrange(len(data))
    return data[:at] + dice.randbytes(dice.randint(1, 40)) + data[at:]


def control(dice: Random, text: str) -> str:
    at = dice.randrange(len(text))
    return text[:at] + dice.choice(CONTROL) + text[at:]


def tabs(dice: Random, text: str) -> str:
    return text.replace("  ", "\t", dice.randint(1, 20))


def byte_order_mark(dice: Random, text: str) -> bytes:
    return text.encode(dice.choice(["utf-8-sig", "utf-16", "utf-32"]))


def line_ends(dice: Random, text: str) -> str:
    return text.replace("\n", dice.choice(["\r\n", "\r", "\n\n"]))


def bomb(dice: Random, text: str) -> str:
    levels = ["a0: &a0 [x, x]"]
    levels += [f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}]" for level in range(1, BOMB)]
    return "\n".join([*levels, text]) if dice.random() < 0.5 else text + "\n".join([*levels, ""])


def anchors(dice: Random, text: str) -> str:
    return text.replace("events:\n", dice.choice(["events: &all\n- *all\n", "events: &all\n", "<<: *none\nevents:\n"]))


def said_empty(dice: Random, text: str) -> str:
    head = text.partition("events:")[0]
    return dice.choice(["", "\n", "---\n", "# nothing\n", "null\n", "[]\n", "{}\n"]) or head


def no_events(dice: Random, text: str) -> str:
    head = text.partition("events:")[0]
    return head + dice.choice(
        ["events: null\n", "events:\n", "events: []\n", "events: {}\n", "events: ''\n", "", "event"]
    )


def renamed(dice: Random, text: str) -> str:
    name = dice.choice(re.findall(r"name: (\S+)", text))
    return text.replace(f"name: {name}\n", f"name: {name}-{dice.randint(2, 9)}\n")


def another_service(dice: Random, text: str) -> str:
    name = dice.choice(re.findall(r"(chat-\d+):", text))
    return text.replace(f"{name}:", dice.choice(["chat-99:", "chat-0:", "Chat-1:", "? chat-1\n      :"]), 1)


def called_off(dice: Random, text: str) -> str:
    return text.replace("cancelled: false", f"cancelled: {dice.choice(['true', 'TRUE', 'yes'])}", 1)


def two_documents(dice: Random, text: str) -> str:
    return dice.choice([f"{text}---\n{text}", f"{text}...\n", f"%YAML 1.3\n---\n{text}", f"---\n{text}---\n"])


def merge_conflict(dice: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at = dice.randrange(len(lines))
    ours = lines[at]
    return "".join([*lines[:at], "<<<<<<< HEAD\n", ours, "=======\n", ours, ">>>>>>> sale\n", *lines[at + 1 :]])


def other_numbers(dice: Random, text: str) -> str:
    number = dice.choice(re.findall(r"rps: (\d+)", text))
    new = dice.choice(["0", "-5", "1e3", "0.5", "1_000", "0x1F", "1,5", "9" * 30, f"{number}.5", f"{number} rps"])
    return text.replace(f"rps: {number}", f"rps: {new}", 1)


def indented(dice: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at = dice.randrange(len(lines))
    lines[at] = " " * dice.randint(1, 3) + lines[at]
    return "".join(lines)


MUTATIONS: tuple[Mutate, ...] = (
    cut,
    line_gone,
    line_twice,
    lines_swapped,
    other_type,
    times_swapped,
    other_day,
    byte_flipped,
    noise,
    control,
    tabs,
    byte_order_mark,
    line_ends,
    bomb,
    anchors,
    said_empty,
    no_events,
    renamed,
    another_service,
    called_off,
    two_documents,
    merge_conflict,
    other_numbers,
    indented,
)
