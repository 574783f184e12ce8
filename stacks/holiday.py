"""The days of a named holiday, year by year, as the library `holidays` knows them; imported when one is asked for.

Holidays that follow the moon are known for some years ahead only, or estimated: both are said, never passed over.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from stacks.events import Holiday
from stacks.faults import Misfit
from stacks.series import Place, Series

# Years in which a name is looked for before it is called unknown. A holiday that is new later needs a newer library.
_KNOWN_YEARS = range(2020, 2036)
_LAST_YEAR = 2100
# Source: holidays 0.108, where a day has several names, in one text.
_BETWEEN_NAMES = "; "


@dataclass(frozen=True)
class HolidayDays:
    """The days of one holiday, moved by its `offset_days`."""

    holiday: Holiday

    def between(self, first: date, last: date) -> list[date]:
        by = timedelta(days=self.holiday.offset_days)
        years = range((first - by).year, (last - by).year + 1)
        return [day + by for year in years for day in self._of(year) if first <= day + by <= last]

    def after(self, day: date) -> Iterator[date]:
        by = timedelta(days=self.holiday.offset_days)
        for year in range((day - by).year, _LAST_YEAR + 1):
            yield from (one + by for one in self._of(year) if one + by > day)

    def is_estimated(self, day: date) -> bool:
        """Whether the day is reckoned and not yet announced."""
        named = day - timedelta(days=self.holiday.offset_days)
        return self._of(named.year).get(named, False)

    def last_before(self, day: date) -> date | None:
        """The last one up to `day`; None in the thirty years before it."""
        found = self.between(day - timedelta(days=30 * 366), day)
        return found[-1] if found else None

    def _of(self, year: int) -> dict[date, bool]:
        """Day -> whether it is estimated, in order."""
        asked = self.holiday.name.strip().casefold()
        found = _year(self.holiday.country, self.holiday.subdiv, year)
        return {day: estimated for day, name, estimated in found if name.casefold() == asked}


def holiday_faults(holiday: Holiday, path: Place) -> Iterator[Misfit]:
    """A country, a part of it or a name that the library does not know."""
    import holidays

    countries = holidays.list_supported_countries()
    if holiday.country not in countries:
        expected = "a country's code of two letters that the library holidays has"
        yield Misfit((*path, "country"), holiday.country, expected, "Correct it, or write the day as `day`.")
        return
    if holiday.subdiv is not None and holiday.subdiv not in countries[holiday.country]:
        known = ", ".join(countries[holiday.country]) or "none"
        yield Misfit((*path, "subdiv"), holiday.subdiv, f"one of {known}", "Correct it, or leave it out.")
        return
    asked = holiday.name.strip().casefold()
    names: dict[str, None] = {}
    for year in _KNOWN_YEARS:
        names.update((name, None) for _, name, _ in _year(holiday.country, holiday.subdiv, year))
        if any(name.casefold() == asked for name in names):
            return
    near = ", ".join(_near(holiday.name, names)) or "none"
    fix = "Write it as it stands there, say the subdiv that has it, or write the day as `day`."
    yield Misfit((*path, "name"), holiday.name, f"a holiday of {holiday.country} (near it: {near})", fix)


def _near(asked: str, names: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    by_face = {name.casefold(): name for name in names}
    within = [face for face in by_face if asked.casefold() in face]
    close = get_close_matches(asked.casefold(), by_face, n=4, cutoff=0.5)
    return [by_face[face] for face in dict.fromkeys([*within, *close])][:6]


def holiday_findings(series: Iterable[Series], today: date) -> Iterator[tuple[str, str]]:
    """(service, what to say) of each event whose next day nobody knows."""
    for one in series:
        if isinstance(one.days, HolidayDays) and next(one.days.after(today), None) is None:
            last = one.days.last_before(today)
            known = f"only until {last}" if last else "no more"
            holiday = one.days.holiday
            fix = "Write an event with its `day`, or take a newer version of the library holidays."
            said = f"{holiday.name} ({holiday.country}) is known {known}, so nothing is raised after"
            yield from ((service, f"{one.name}: {said}. {fix}") for service in one.asked.services)


def holiday_notes(series: Iterable[Series], today: date) -> Iterator[str]:
    """Events whose next day is estimated."""
    for one in series:
        if isinstance(one.days, HolidayDays):
            day = next(one.days.after(today - timedelta(days=1)), None)
            if day and day not in one.moved and one.days.is_estimated(day):
                fix = "Use `moved` once it is announced."
                yield f"{one.name}@{day}: the day is estimated, and may yet be another. {fix}"


@lru_cache(maxsize=1024)
def _year(country: str, subdiv: str | None, year: int) -> tuple[tuple[date, str, bool], ...]:
    """(day, name, is estimated) of every holiday of a year, in English and in the country's own language."""
    import holidays

    found: dict[tuple[date, str], bool] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the years it does not know; what follows is said by `findings`
        known: Any = holidays.country_holidays(country, subdiv=subdiv)
        languages = {known.default_language, "en_US"} & {None, *known.supported_languages} or {known.default_language}
        for language in sorted(languages, key=str):
            named: Any = holidays.country_holidays(
                country, subdiv, years=year, observed=False, language=language, categories=known.supported_categories
            )
            label = named.tr(named.estimated_label).replace("%s", "") if hasattr(named, "estimated_label") else None
            for day, text in named.items():
                for name in text.split(_BETWEEN_NAMES):
                    is_estimated = bool(label) and name.endswith(label)
                    found[day, name.removesuffix(label or "").strip()] = is_estimated
    return tuple((day, name, estimated) for (day, name), estimated in sorted(found.items()))
