"""The command line, ``saleor-gateway``."""

import typer

from app.commands import accounts, card_keys, channels, events, installations, notifications, payments, serve
from app.commands.attention import attention
from app.commands.group import OperatorGroup
from app.logs import configure_logs
from app.sandbox.command import sandbox
from app.sandbox.demo.command import demo

cli = typer.Typer(
    name="saleor-gateway",
    help="The payment app for Saleor stores whose money goes through this gateway.",
    cls=OperatorGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cli.command("run")(serve.run)
cli.command("worker")(serve.run_worker)
cli.command("migrate")(serve.migrate_database)
cli.command("attention")(attention)
cli.add_typer(installations.commands, name="installations")
cli.add_typer(accounts.commands, name="accounts")
cli.add_typer(channels.commands, name="channels")
cli.add_typer(card_keys.commands, name="card-keys")
cli.add_typer(payments.commands, name="payments")
cli.add_typer(events.commands, name="events")
cli.add_typer(notifications.commands, name="notifications")
cli.command("sandbox")(sandbox)
cli.command("demo")(demo)


def main() -> None:
    """Run a command. Whatever it logs goes to standard error: standard output is for what was asked (``run`` sets
    its logs up again, as the settings say)."""
    configure_logs("console", "warning")
    cli()


if __name__ == "__main__":
    main()
