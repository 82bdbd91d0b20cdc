"""`olmkit completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

import click

from olmkit.cli.frame.app import App, command


@command(output=False, example='eval "$(olmkit completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(app: App, shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from olmkit.cli.main import root

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"no completion for `{shell}`")
    source = maker(root, {}, "olmkit", "_OLMKIT_COMPLETE").source()
    # Click's script for fish shows a description up to its first comma only.
    source = source.replace(
        '(string split "," $completion)', '(string split --max 1 "," $completion)'
    )
    app.terminal.result(source, exact=True)
