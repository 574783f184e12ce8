"""From one calendar of a course to the next: what a run finds before it, and what has to be true after it."""

from __future__ import annotations

import time

from sandbox.reliability.course import Course
from sandbox.reliability.ground import Ground
from sandbox.reliability.stack_on_disk import Ran, calendar_text

ZONES = ("America/New_York", "Asia/Kolkata", "Europe/Berlin", "UTC")
PERSONS = 0.25
"""How often a person sets a value beside the calendar."""


def prepared(ground: Ground, course: Course) -> dict[str, int]:
    """Another calendar, and sometimes a person's hand, such that a run has a floor to write: the floors before it."""
    until = time.monotonic() + 180
    while time.monotonic() < until:
        course.turn()
        ground.calendar.write_text(calendar_text(course.events, course.dice.choice(ZONES)))
        service = course.dice.choice(list(course.services))
        if course.dice.random() < PERSONS and (value := course.person(service)):
            ground.patch(service.name, {"spec": {"minReplicaCount": value}})
        before = {name: minimum for name, (minimum, _) in ground.seen().items()}
        if before != course.floors():
            return before
        # What a calendar says, or a person does, counts once a run has seen it.
        ground.run()
        course.settled()
    raise AssertionError("no calendar of three minutes asked for another floor")


def wrong_ending(course: Course, ran: Ran) -> list[str]:
    """What a run should have said: of each event that is late that it is, and of nothing else anything.

    Nothing runs on a ground, so every floor that is raised lacks all its replicas.
    """
    late = course.late()
    if ran.exit_code != (1 if late else 0):
        return [f"a run with {late or 'nothing'} late ended with {ending(ran)}"]
    said = [(each["service"], finding) for each in ran.services for finding in each["findings"]]
    told = {(service, finding.partition(LATE)[0]) for service, finding in said}
    return [f"a run with {late} late said {said}"] if told != late or len(said) != len(late) else []


LATE = ": ready about "


def is_done(ran: Ran) -> bool:
    """Whether a run did all that it had to, also where it says that what it raised comes too late."""
    if ran.exit_code != 1 or not ran.stdout:
        return ran.exit_code == 0
    findings = [finding for each in ran.services for finding in each["findings"]]
    return bool(findings) and all(LATE in finding for finding in findings)


def wrong_after(ground: Ground, course: Course, ran: Ran) -> list[str]:
    """What is not as it has to be after a run that nobody disturbed."""
    wrong = wrong_ending(course, ran)
    seen, wanted = ground.seen(), course.floors()
    for service in course.services:
        minimum, baseline = seen[service.name]
        if minimum != wanted[service.name]:
            wrong.append(f"{service.name} has {minimum}, expected {wanted[service.name]} by {course.events}")
        if baseline != str(service.baseline):
            wrong.append(f"{service.name} has the baseline {baseline}, expected {service.baseline}")
    return wrong


def ending(ran: Ran) -> str:
    """Exit code and last words, for a person."""
    return f"exit code {ran.exit_code}: {(ran.stderr or ran.stdout).strip()[-500:]}"
