"""Where a run's log line and metrics go. What goes wrong with them is said on stderr, and is no fault of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from prescale.runs.exposition import Before
    from prescale.runs.report import RunReport

F = TypeVar("F", bound=Callable[..., Any])

STDOUT = "-"


def telling_options(command: F) -> F:
    """`--log-file` and `--metrics-file`, as the parameter `telling`."""

    @wraps(command)
    def with_telling(*args: Any, log_file: str | None, metrics_file: Path | None, **others: Any) -> Any:
        return command(*args, telling=Telling(log_file, metrics_file), **others)

    log = click.option(
        "--log-file",
        envvar="WARMLINE_LOG",
        show_envvar=True,
        metavar="FILE|-",
        help="Add one line of JSON for each stack; `-` prints them, in place of what is printed else.",
    )
    metrics = click.option(
        "--metrics-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write Prometheus metrics of these stacks, for node_exporter's textfile collector (*.prom).",
    )
    return cast("F", log(metrics(with_telling)))


@dataclass
class Telling:
    """One call's. `tell` is said after each stack's run, `end` after all of them."""

    log_file: str | None = None
    metrics_file: Path | None = None
    reports: list[RunReport] = field(default_factory=list)
    _before: Before | None = None

    @property
    def is_asked(self) -> bool:
        return self.log_file is not None or self.metrics_file is not None

    @property
    def takes_stdout(self) -> bool:
        return self.log_file == STDOUT

    def tell(self, report: RunReport) -> None:
        """Log one run now: the next stack may take its time."""
        from prescale.runs import log_line

        success = report.at if report.came_to_its_end else self._last_success(report.stack)
        report = replace(report, last_success=success)
        self.reports.append(report)
        line = log_line.log_line(report)
        if self.log_file == STDOUT:
            click.echo(line, nl=False)
        elif self.log_file is not None:
            path = Path(self.log_file)
            _guarded(path, lambda: log_line.append(path, line))

    def end(self) -> None:
        """Write the metrics of all of them."""
        if self.metrics_file is None:
            return
        from prescale.runs import metrics_file
        from prescale.runs.exposition import exposition

        path = self.metrics_file
        text = exposition(self.reports, self._before)
        _guarded(path, lambda: metrics_file.write(path, text))

    def _last_success(self, stack: str) -> Any:
        if self.metrics_file is None:
            return None
        from prescale.runs import metrics_file

        self._before = self._before or metrics_file.before(self.metrics_file)
        return self._before.last_success(stack)


def _guarded(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        reason = str(error.strerror or error).lower()
        click.echo(f"{path}: not written: {reason}. The run itself is not touched by it.", err=True)
