"""The command line, ``saleor-gateway``: all commands with their functions and their summaries for ``--help``."""

from collections.abc import Mapping
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from app import DISTRIBUTION
from app.commands.deferred import Command, Group, add_commands
from app.commands.group import OperatorGroup
from app.commands.output import keep_own_rights, prepare_output

COMMANDS: Mapping[str, Command | Group] = {
    "run": Command(
        "app.commands.serve:run", "Serve the app, with the worker in the same process unless APP_WORKER=false."
    ),
    "worker": Command(
        "app.commands.serve:run_worker",
        "Run the background jobs without serving: send events to Saleor, process notifications, look up outcomes.",
    ),
    "alive": Command(
        "app.commands.worker_health:alive",
        "Check that a worker on this machine is running, for a container's health check.",
    ),
    "migrate": Command("app.commands.database:migrate_database", "Migrate the database to the newest schema."),
    "doctor": Command("app.commands.doctor:doctor", "Check everything that the app depends on."),
    "attention": Command("app.commands.attention:attention", "Show what needs attention, and what to do about it."),
    "installations": Group(
        "The stores that have installed the app.",
        {
            "list": Command(
                "app.commands.installations:show_installations",
                "Show the stores that have installed the app, and whether each accepts it.",
            ),
            "set": Command("app.commands.installations:set_installation", "Set what Saleor does not report itself."),
            "update": Command(
                "app.commands.installation_update:update_installations",
                "Update what stores have installed of the app to this release.",
            ),
            "move": Command(
                "app.commands.installations:move_installation",
                "Move everything of a store to its new address: payments, merchant accounts, channels.",
            ),
        },
    ),
    "accounts": Group(
        "Merchant accounts: points of sale at the gateway, with their keys.",
        {
            "add": Command("app.commands.account_add:add", "Add a merchant account and test it."),
            "set": Command("app.commands.account_set:change", "Change an account."),
            "split": Command(
                "app.commands.account_split:split",
                "Show or change the rules that split an account's payments.",
            ),
            "try": Command(
                "app.commands.account_try:try_account",
                "Open a payment page at the gateway and pay there yourself, like a shopper.",
            ),
            "list": Command("app.commands.accounts:show_accounts", "Show all merchant accounts."),
            "show": Command(
                "app.commands.accounts:show_account", "Show everything about one account except its secrets."
            ),
            "check": Command("app.commands.accounts:check_accounts", "Test accounts at the gateway, safely."),
            "remove": Command("app.commands.accounts:remove", "Delete an account and its keys."),
        },
    ),
    "channels": Group(
        "Which merchant account receives the payments of which sales channel.",
        {
            "map": Command(
                "app.commands.channels:map_channel",
                "Let an account receive a channel's payments, replacing the previous account if there is one.",
            ),
            "list": Command("app.commands.channels:show_channels", "Show which channels have an account."),
            "check": Command(
                "app.commands.channels:check_channels",
                "Fetch the channels of a store from Saleor, and show what each one is missing.",
            ),
            "looked-at": Command(
                "app.commands.channels:looked_at",
                "Mark the channels in which shoppers are turned away as reviewed.",
            ),
            "unmap": Command("app.commands.channels:unmap_channel", "Stop offering payments in a channel."),
        },
    ),
    "customers": Group(
        "What is stored about a store's customers.",
        {
            "forget": Command(
                "app.commands.customers:forget",
                "Delete a customer's saved cards, and save none from payments that are still open.",
            ),
            "export": Command(
                "app.commands.customers:export",
                "Write what is stored about a customer as JSON: saved cards and, by e-mail address, their payments.",
            ),
        },
    ),
    "card-keys": Group(
        "The keys with which storefronts encrypt cards.",
        {
            "list": Command(
                "app.commands.card_keys:show_keys",
                "Show the card keys of all stores: which one is offered, and until when.",
            ),
            "rotate": Command(
                "app.commands.card_keys:rotate",
                "Create a new card key for a store and offer it from now on.",
            ),
        },
    ),
    "data": Group(
        "Stored data, and how long it is kept.",
        {
            "prune": Command(
                "app.commands.data:prune",
                "Erase expired data now: shopper data in old payments, and the content of old notifications.",
            ),
            "restored": Command(
                "app.commands.data:restored",
                "Record that a backup was restored: operations that were waiting to be sent are looked up instead.",
            ),
            "copy": Command(
                "app.commands.data_copy:copy",
                "Copy everything into another, empty database, and compare both.",
            ),
        },
    ),
    "secrets": Group(
        "The keys that encrypt the secrets in the database.",
        {
            "check": Command(
                "app.commands.secrets:check",
                "Show how much is encrypted with each key of the secret key file, and which lines you can remove.",
            ),
            "add-key": Command(
                "app.commands.secrets:add", "Add a new key to the secret key file: from then on it encrypts."
            ),
            "reseal": Command(
                "app.commands.secrets:reseal",
                "Encrypt everything with the newest key, while the app is running.",
            ),
        },
    ),
    "payments": Group(
        "Payments: their state, their history, and actions on them.",
        {
            "list": Command("app.commands.payment_list:list_payments", "Show the newest payments."),
            "show": Command(
                "app.commands.payment_show:show_payment", "Show a payment as its page in the Dashboard does."
            ),
            "raw": Command(
                "app.commands.payment_raw:show_raw",
                "Show the requests to the gateway, its notifications, and the events sent to Saleor.",
            ),
            "capture": Command(
                "app.commands.payment_act:capture",
                "Capture an authorized amount, or part of it: only one capture is possible, and the rest is released.",
            ),
            "void": Command("app.commands.payment_act:void", "Release the whole authorized amount."),
            "refund": Command("app.commands.payment_act:refund", "Refund what was charged, or part of it."),
            "cancel": Command(
                "app.commands.payment_act:cancel",
                "Cancel a payment that the shopper has not paid yet: its payment page is closed.",
            ),
            "cancel-subscription": Command(
                "app.commands.payment_act:end_subscription",
                "Cancel the subscription that a payment started: nothing more is charged for it.",
            ),
            "settle": Command(
                "app.commands.payment_settle:settle_payment",
                "Look up a payment at the gateway now, and record the result.",
            ),
            "resend": Command(
                "app.commands.payment_settle:resend",
                "Ask the gateway to send its notifications of a payment again.",
            ),
            "split": Command(
                "app.commands.payment_split:split",
                "Show how a split payment is shared, or choose who pays for its next refund.",
            ),
            "link": Command(
                "app.commands.payment_link:link",
                "Create a link for a customer to pay an order, or what is left to pay on it; the app must be running.",
            ),
            "looked-at": Command("app.commands.acknowledge:acknowledge", "Mark a payment's problems as reviewed."),
        },
    ),
    "payouts": Group(
        "Payouts to cards.",
        {
            "list": Command("app.commands.payouts:list_payouts", "Show the newest payouts."),
            "show": Command(
                "app.commands.payouts:show_payout",
                "Show a payout: who requested it, who confirmed it, and its outcome.",
            ),
            "send": Command("app.commands.payouts:send", "Pay out to a customer's saved card, after confirmation."),
        },
    ),
    "look-up": Group(
        "The gateway's records of an order, an operation, a subscription or a period.",
        {
            "order": Command("app.commands.look_up:order", "Show all of the gateway's records of an order."),
            "operation": Command(
                "app.commands.look_up:operation", "Show the gateway's records of one kind of operation of an order."
            ),
            "subscription": Command(
                "app.commands.look_up:subscription", "Show the payments or refunds of a subscription."
            ),
            "period": Command("app.commands.look_up:period", "Write the gateway's list for a period as it arrives."),
        },
    ),
    "reconcile": Group(
        "Compare the app's records with the gateway's.",
        {
            "run": Command(
                "app.commands.reconcile:run",
                "Compare accounts' records with the gateway's now, and repair what can be repaired.",
            ),
            "history": Command("app.commands.reconcile_history:history", "Show the newest comparisons."),
            "show": Command("app.commands.reconcile_history:show_run", "Show what a comparison found."),
            "looked-at": Command(
                "app.commands.reconcile_history:looked_at",
                "Mark paid orders in the gateway's records that match no payment as reviewed.",
            ),
        },
    ),
    "money": Command(
        "app.commands.money:money",
        "Show the money of a period: charged, refunded, charged back, fees and net, by our records and the gateway's.",
    ),
    "balances": Command("app.commands.balances:balances", "Show the merchant's balances at the gateway."),
    "register": Command(
        "app.commands.register:register", "Write the gateway's register for a period, as CSV, XLSX or JSON lines."
    ),
    "events": Group(
        "The events for Saleor, and those that it has refused.",
        {
            "list": Command("app.commands.events:show_events", "Show the newest events."),
            "retry": Command("app.commands.events:retry", "Send events to Saleor again."),
        },
    ),
    "notifications": Group(
        "The gateway's notifications, and their outcomes.",
        {
            "looked-at": Command(
                "app.commands.acknowledge:notifications_looked_at",
                "Mark notifications that cannot be used as reviewed.",
            ),
            "list": Command("app.commands.notifications:show_notifications", "Show the newest notifications."),
            "replay": Command(
                "app.commands.notifications:replay",
                "Process notifications again, here and now, just as the worker does when they arrive.",
            ),
        },
    ),
    "storefront-kit": Command(
        "app.commands.storefront_kit:show_tag",
        "Show the line of HTML with which a storefront's page loads the payment button from this app.",
    ),
    "sandbox": Command(
        "gateway_client.sandbox.command:sandbox",
        "Start a gateway of your own: no account, no money, nothing leaves this machine.",
    ),
    "demo": Command(
        "app.demo.command:demo",
        "Play a whole payment on this machine: a Saleor, a gateway and the app; no account, no money.",
    ),
}

cli = typer.Typer(name=DISTRIBUTION, cls=OperatorGroup, no_args_is_help=True, pretty_exceptions_enable=False)
add_commands(cli, COMMANDS)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"{DISTRIBUTION} {version_of(DISTRIBUTION)}")
        raise typer.Exit


@cli.callback()
def program(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The payment app for Saleor stores whose money goes through this gateway."""


def _configure_logs() -> None:
    from app.ops.logs import configure_logs  # noqa: PLC0415 - imported only when a command runs

    configure_logs("console", "warning")


def main() -> None:
    """Run a command. Logs go to standard error, because standard output is for the command's result.

    ``run`` configures its logs again, from the settings.
    """
    prepare_output()
    keep_own_rights()
    cli(obj=_configure_logs)


if __name__ == "__main__":
    main()
