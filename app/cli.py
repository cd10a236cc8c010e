"""The command line, ``saleor-gateway``."""

import sys

import typer
from rich.console import Console

from app.commands import serve
from app.settings import SettingsError

cli = typer.Typer(
    name="saleor-gateway",
    help="The payment app for Saleor stores whose money goes through this gateway.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cli.command("run")(serve.run)
cli.command("migrate")(serve.migrate_database)


def main() -> None:
    """Run a command. What an operator can mend is said in one line on standard error, with exit status 2."""
    try:
        cli()
    except SettingsError as exc:
        Console(stderr=True).print(f"[bold red]{exc}[/]", soft_wrap=True, highlight=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
