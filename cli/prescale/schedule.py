"""`warmline prescale schedule`: what runs the pre-scaler again and again, for somebody to install."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option, stacks_option
from stacks.runner import PERIODS_MIN

EVERY_MIN = [str(period) for period in PERIODS_MIN]

every_min_option = click.option(
    "--every-min",
    type=click.Choice(EVERY_MIN),
    default="2",
    show_default=True,
    help="Minutes from one run to the next.",
)


@click.group(
    epilog=examples(
        "warmline prescale schedule cron -s prod -s staging > prescale.crontab",
        "warmline prescale schedule cronjob -s prod --image registry.example/warmline@sha256:... | kubectl apply -f -",
        "warmline prescale schedule ci -s prod > .github/workflows/prescale.yaml",
    ),
)
def schedule() -> None:
    """Print what runs `sync` again and again: a crontab, a Kubernetes CronJob, or a CI workflow.

    Nothing is installed and no cluster is asked. Two runners at once do each other no harm.
    """


@schedule.command(
    short_help="A crontab, with a lock and a time limit.",
    epilog=examples("warmline prescale schedule cron -s prod -s staging > prescale.crontab"),
)
@stacks_option
@every_min_option
@click.option(
    "--log-file",
    type=click.Path(path_type=Path),
    default="/var/log/warmline/prescale.jsonl",
    show_default=True,
    help="The runs' lines of JSON; lock and errors are kept beside it.",
)
@click.option("--metrics-file", type=click.Path(path_type=Path), help="As of `sync`: for node_exporter.")
def cron(stack_names: tuple[str, ...], every_min: str, log_file: Path, metrics_file: Path | None) -> None:
    """Print a crontab for this machine: absolute paths, one run at a time, none longer than the period.

    KUBECONFIG is taken over where it is set, and the stacks' folder as it is found now.
    """
    from prescale.schedule.crontab import crontab, this_host

    names = _checked(stack_names)
    options = [f"--metrics-file={_absolute(metrics_file)}"] if metrics_file else []
    click.echo(crontab(names, int(every_min), this_host(), _absolute(log_file), options), nl=False)


@schedule.command(
    short_help="A Kubernetes CronJob, its account and Roles.",
    epilog=examples(
        "warmline prescale schedule cronjob -s prod --image registry.example/warmline@sha256:... | kubectl apply -f -"
    ),
)
@stack_option
@click.option("--image", metavar="IMAGE@sha256:...", help="An image with warmline on its PATH; or runner.image.")
@click.option("--every-min", type=click.Choice(EVERY_MIN), help="Minutes between runs; or runner.every_min.")
@click.option("--webhook-secret", metavar="NAME", help="Secret whose key `url` is told findings.")
@output_option("yaml", "json")
@click.pass_context
def cronjob(
    ctx: click.Context, stack: str, *, image: str | None, every_min: str | None, webhook_secret: str | None, output: str
) -> None:
    """Print what runs the pre-scaler inside the cluster: CronJob, account, one Role for each capability, the files.

    The stack's files go along as a ConfigMap: print and apply it again when the calendar changes. With a `runner` in
    platform.yaml, `pulumi up` does both. Every object is checked against the vendored schemas.
    """
    from cli.output import emit
    from infra.checks import checked_platform
    from infra.runner.files import stack_files
    from infra.runner.manifests import manifests, runner_site
    from infra.runner.settings import settings
    from infra.schemas.check import faults
    from stacks.loader import load_stack

    load_stack(stack)
    platform = checked_platform(stack)
    runner = settings(stack, platform, image=image, every_min=every_min, webhook_secret=webhook_secret)
    objects = manifests(runner_site(stack, platform, runner, stack_files(stack), "warmline"))
    if output == "json":
        emit({"apiVersion": "v1", "kind": "List", "items": objects}, "json")
    else:
        import yaml

        click.echo(yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True, width=10_000), nl=False)
    wrong = [fault for item in objects for fault in faults(item)]
    for fault in wrong:
        click.echo(fault, err=True)
    if wrong:
        ctx.exit(FINDING)


@schedule.command(
    short_help="A scheduled GitHub Actions workflow.",
    epilog=examples("warmline prescale schedule ci -s prod > .github/workflows/prescale.yaml"),
)
@stacks_option
@click.option(
    "--every-min",
    type=click.Choice([text for text in EVERY_MIN if int(text) >= 5]),
    default="5",
    show_default=True,
    help="Minutes from one run to the next; GitHub's least is 5.",
)
def ci(stack_names: tuple[str, ...], every_min: str) -> None:
    """Print a scheduled workflow for GitHub Actions: actions pinned by commit, AWS by OIDC, no secret kept.

    GitHub starts scheduled runs late and leaves some out: have something else as well where T0 matters.
    """
    from prescale.schedule.workflow import workflow
    from stacks.loader import load_stack

    loaded = [load_stack(name) for name in dict.fromkeys(stack_names)]
    click.echo(workflow(loaded, int(every_min)), nl=False)


@schedule.command(
    short_help="Alert rules for the day none of them runs.",
    epilog=examples(
        "warmline prescale schedule alerts -s prod --runner cron > rules/warmline-prod.yaml",
        "warmline prescale schedule alerts -s prod --runner cronjob --operator | kubectl apply -f -",
    ),
)
@stack_option
@click.option(
    "--runner",
    type=click.Choice(["cron", "cronjob"]),
    required=True,
    help="What runs `sync`: cron with --metrics-file, or the CronJob; of this one kube-state-metrics tells.",
)
@every_min_option
@click.option("--operator", is_flag=True, help="As a PrometheusRule of the Prometheus Operator.")
@output_option("yaml", "json")
def alerts(stack: str, *, runner: Literal["cron", "cronjob"], every_min: str, operator: bool, output: str) -> None:
    """Print Prometheus alert rules: no run, runs that fail, a floor not in force, not warm, a floor left standing.

    Print them again when a service, its baseline or its cold start changes. kube-state-metrics has to be scraped.
    """
    from cli.output import emit
    from prescale.schedule.alerts import Watched, prometheus_rule, rules_file
    from stacks.loader import load_stack

    watched = Watched(load_stack(stack), runner, int(every_min))
    emit(prometheus_rule(watched) if operator else rules_file(watched), output)


def _checked(stack_names: tuple[str, ...]) -> list[str]:
    from stacks.loader import load_stack

    return [load_stack(name).name for name in dict.fromkeys(stack_names)]


def _absolute(path: Path) -> Path:
    if "\n" in str(path):
        raise click.UsageError(f"{str(path)!r} is no path for a crontab: it has a line's end.")
    return path.absolute()
