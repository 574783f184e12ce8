"""`--pods-via`: how Ready pods are asked whether they answer."""

from __future__ import annotations

import click

from cli.options import F


def pods_via_option(command: F) -> F:
    """Through the API server, or directly from inside the cluster's network."""
    return click.option(
        "--pods-via",
        type=click.Choice(["api", "direct"]),
        default="api",
        envvar="WARMLINE_PODS_VIA",
        show_default=True,
        show_envvar=True,
        help="How pods are asked: through the API server's pod proxy, or at their own addresses.",
    )(command)
