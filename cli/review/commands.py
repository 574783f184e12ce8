"""`warmline review`: what a change does to a stack, for a pull request."""

from __future__ import annotations

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option


@click.command(
    epilog=examples(
        "warmline review -s local --against main",
        "warmline review -s local --against main -o json | jq -r '.findings[]'",
        'warmline review -s local --against HEAD~1 >> "$GITHUB_STEP_SUMMARY"',
    )
)
@stack_option
@click.option("--against", required=True, metavar="REF", help="The revision to compare the working tree with.")
@output_option("markdown", "json", "yaml")
@click.pass_context
def review(ctx: click.Context, stack: str, against: str, output: str) -> None:
    """Compare the working tree's objects, events and settings with another revision's.

    Settings are what the stack's two files say: also an owner, a priority or an SLO, which changes no object and no
    floor.

    Both revisions are rendered and planned by their own code, offline and without the environment's credentials. It
    runs that code, so review what you would run. Ends with 1 if a change is a risk (a serving object replaced or
    removed, a ceiling, baseline, floor or pool lowered, floors that need more GPUs than their pool has, an event
    removed or moved away before its end) or if a side did not render or plan; the text says which.
    """
    from cli.review.join import review_stack

    result = review_stack(stack, against)

    from cli.output import emit
    from cli.review import text

    if output == "markdown":
        click.echo(text.markdown(result), nl=False)
    else:
        emit(text.data(result), output)
    if not result.is_safe:
        ctx.exit(FINDING)
