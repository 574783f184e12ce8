"""`warmline`: the group of all commands."""

from __future__ import annotations

from typing import Any

import click

from cli.exits import BAD_INPUT, OUT_OF_REACH
from cli.late_group import LateGroup
from cli.options import examples
from stacks.faults import InputError
from stacks.reach import OutOfReach

# command -> (module, attribute, one line of help). One row per command group; nothing else lists them.
COMMANDS = {
    "preview": ("cli.preview", "preview", "What `pulumi up` would create, offline."),
    "review": ("cli.review.commands", "review", "What a change does to objects, events, floors and GPUs."),
    "bench": ("cli.bench.commands", "bench", "What benchmark results are worth, and what they say of one replica."),
    "size": ("cli.size.commands", "size", "From a product's request to replicas, nodes and money."),
    "prescale": ("cli.prescale.commands", "prescale", "Raise capacity ahead of known events, and let go after."),
    "sandbox": ("cli.sandbox", "sandbox", "A real control plane with fake GPU nodes on this machine."),
    "schema": ("cli.schema", "schema", "JSON schemas of the stack's files, for editors."),
}


class _Warmline(LateGroup):
    """All of them; what is bad input or out of reach ends every one in the same way."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            for fault in error.faults:
                click.echo(str(fault), err=True)
            ctx.exit(BAD_INPUT)
        except OutOfReach as error:
            click.echo(str(error), err=True)
            ctx.exit(OUT_OF_REACH)


@click.group(
    cls=_Warmline,
    late=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": None},
    epilog=examples("warmline preview -s local", "warmline prescale plan -s local")
    + "\n\nExit codes: 0 done, 1 a finding, 2 bad input, 3 cluster or cloud out of reach."
    + '\n\nCompletion: eval "$(_WARMLINE_COMPLETE=bash_source warmline)", or zsh_source.',
)
@click.version_option(None, "-V", "--version", package_name="warmline", prog_name="warmline")
def warmline() -> None:
    """Keep self-hosted LLM serving warm before the peak."""


def main() -> None:
    """The console script."""
    import gc
    import os
    import signal

    # A run makes many objects that stay and few circles: looking for them at every 700th costs a tenth of it.
    gc.set_threshold(200_000)
    # Nobody's plugin has a say in what a stack's files mean, and looking for one opens every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # `warmline ... | head`: end as every program does, and not with 1, which means a finding.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    warmline(prog_name="warmline")


if __name__ == "__main__":
    main()
