"""Where a run's log line, metrics and news go. What goes wrong with them is said on stderr, and no fault of the run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from whenever import Instant

    from prescale.api.cluster import Cluster
    from prescale.runs.exposition import Before
    from prescale.runs.memory import Memory
    from prescale.runs.report import RunReport

F = TypeVar("F", bound=Callable[..., Any])

STDOUT = "-"
WEBHOOK = "WARMLINE_WEBHOOK_URL"

_FILE = click.Path(dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option(
        "--log-file",
        envvar="WARMLINE_LOG",
        show_envvar=True,
        metavar="FILE|-",
        help="Add one line of JSON for each stack; `-` prints them, in place of what is printed else.",
    ),
    click.option(
        "--metrics-file",
        type=_FILE,
        metavar="FILE",
        help="Write Prometheus metrics of these stacks, for node_exporter's textfile collector (*.prom).",
    ),
    click.option(
        "--webhook-url-file",
        type=_FILE,
        metavar="FILE",
        help=f"Tell findings to the webhook whose address is in FILE, or in {WEBHOOK}: once, when they change.",
    ),
    click.option(
        "--state-file",
        type=_FILE,
        metavar="FILE",
        help="Where it is kept what the webhook was told; without it, in a ConfigMap of the stack's namespace, or on "
        "this machine where the cluster is out of reach.",
    ),
)


def telling_options(command: F) -> F:
    """The options of this module, as the parameter `telling`."""

    @wraps(command)
    def with_telling(
        *args: Any,
        log_file: str | None,
        metrics_file: Path | None,
        webhook_url_file: Path | None,
        state_file: Path | None,
        **others: Any,
    ) -> Any:
        telling = Telling(log_file, metrics_file, webhook_url_file, state_file)
        return command(*args, telling=telling, **others)

    decorated: Any = with_telling
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return cast("F", decorated)


@dataclass
class Telling:
    """One call's. `tell` is said after each stack's run, `end` after all of them."""

    log_file: str | None = None
    metrics_file: Path | None = None
    webhook_url_file: Path | None = None
    state_file: Path | None = None
    is_silent: bool = False
    _reports: list[RunReport] = field(default_factory=list)
    _before: Before | None = None
    _is_silent_hook: bool = False

    @property
    def has_readers(self) -> bool:
        """Whether anybody reads what only a log or metrics tell."""
        return not self.is_silent and (self.log_file is not None or self.metrics_file is not None)

    @property
    def takes_stdout(self) -> bool:
        return not self.is_silent and self.log_file == STDOUT

    @property
    def has_webhook(self) -> bool:
        return not self.is_silent and (self.webhook_url_file is not None or bool(os.environ.get(WEBHOOK)))

    @property
    def asks_the_cluster(self) -> bool:
        """Whether the cluster keeps what was told, also of a run that had nothing else to ask of it."""
        return self.has_webhook and self.state_file is None

    def tell(self, report: RunReport, cluster: Cluster | None) -> None:
        """Log one run, and tell its news, now: the next stack may take its time.

        Args:
            cluster: None where it cannot be asked.
        """
        if self.has_readers:
            self._log(replace(report, last_success=self._last_success(report)))
        if self.has_webhook:
            self._tell_news(report, cluster)

    def end(self) -> None:
        """Write the metrics of all runs."""
        if self.metrics_file is None or self.is_silent:
            return
        from prescale.runs import whole_file
        from prescale.runs.exposition import exposition

        path, text = self.metrics_file, exposition(self._reports, self._before)
        _guarded(path, lambda: whole_file.write(path, text))

    def _log(self, report: RunReport) -> None:
        from prescale.runs import log_line

        self._reports.append(report)
        line = log_line.log_line(report)
        if self.log_file == STDOUT:
            click.echo(line, nl=False)
        elif self.log_file is not None:
            path = Path(self.log_file)
            _guarded(path, lambda: log_line.append(path, line))

    def _last_success(self, report: RunReport) -> Instant | None:
        if report.came_to_its_end:
            return report.at
        if self.metrics_file is None:
            return None
        from prescale.runs.exposition import read
        from stacks.files import Unreadable, text_of

        if self._before is None:
            try:
                self._before = read(text_of(self.metrics_file))
            except Unreadable:  # or none there yet
                self._before = read("")
        return self._before.last_success(report.stack)

    def _tell_news(self, report: RunReport, cluster: Cluster | None) -> None:
        from prescale.runs import news, webhook
        from prescale.runs.memory import Forgotten

        try:
            memory, state = self._memory(cluster), news.state(report)
            told = memory.recall(report.stack)
            if state == told:
                return
            # What cannot be kept is not sent: it would be told at every run.
            memory.remember(report.stack, told)
            if self._is_silent_hook:
                _not_told(report, "it gave no answer before, and one call waits for it once")
                return
            webhook.send(self._webhook_url(), news.message(report))
            memory.remember(report.stack, state)
        except webhook.NotTold as error:
            # The next stack's floor would wait for it as well.
            self._is_silent_hook = isinstance(error, webhook.NoAnswer) or self._is_silent_hook
            _not_told(report, str(error))
        except Forgotten as error:
            _not_told(report, f"what it was told cannot be kept: {error} (--state-file FILE keeps it elsewhere)")

    def _memory(self, cluster: Cluster | None) -> Memory:
        from prescale.runs.memory import FileMemory, SharedMemory

        return SharedMemory(cluster) if self.state_file is None else FileMemory(self.state_file)

    def _webhook_url(self) -> str:
        from prescale.runs.webhook import NotTold
        from stacks.files import Unreadable, text_of

        if self.webhook_url_file is None:
            return os.environ[WEBHOOK].strip()
        try:
            return text_of(self.webhook_url_file).strip()
        except Unreadable as error:
            raise NotTold(f"{self.webhook_url_file}: {error}") from None


def _not_told(report: RunReport, reason: str) -> None:
    said = "The run itself is not touched by it."
    click.echo(f"stack {report.stack}: the webhook was not told: {reason}. {said}", err=True)


def _guarded(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        reason = str(error.strerror or error).lower()
        click.echo(f"{path}: not written: {reason}. The run itself is not touched by it.", err=True)
