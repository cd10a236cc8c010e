"""The command line, ``saleor-gateway``: every command, its module, and what ``--help`` says of it in a list."""

from collections.abc import Mapping
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from app import DISTRIBUTION
from app.commands.deferred import Command, Group, add_commands
from app.commands.group import OperatorGroup

COMMANDS: Mapping[str, Command | Group] = {
    "run": Command("app.commands.serve:run", "Serve the app, with the worker inside unless APP_WORKER=false."),
    "worker": Command(
        "app.commands.serve:run_worker",
        "Do the durable jobs without serving: tell Saleor, process notifications, look up what is not known.",
    ),
    "alive": Command(
        "app.commands.alive:alive", "Say whether a worker of this machine works: for a container's health check."
    ),
    "migrate": Command("app.commands.database:migrate_database", "Bring the database to the newest shape."),
    "doctor": Command("app.commands.doctor:doctor", "Look whether all that the app depends on is as it should be."),
    "attention": Command("app.commands.attention:attention", "Show what needs a person, and what to do about it."),
    "installations": Group(
        "The Saleors that have installed the app.",
        {
            "list": Command(
                "app.commands.installations:show_installations",
                "Show which Saleors have installed the app, and whether they know it.",
            ),
            "set": Command("app.commands.installations:set_installation", "Say what Saleor does not tell of itself."),
            "update": Command(
                "app.commands.installation_update:update_installations",
                "Bring what Saleors have of the app up to this release.",
            ),
            "move": Command(
                "app.commands.installations:move_installation",
                "Let everything of a Saleor follow it to its new address: payments, merchant accounts, channels.",
            ),
        },
    ),
    "accounts": Group(
        "Merchant accounts: points of sale at the gateway, with their keys.",
        {
            "add": Command("app.commands.account_add:add", "Add a merchant account and try it out."),
            "set": Command("app.commands.account_set:change", "Change an account."),
            "split": Command(
                "app.commands.account_split:split",
                "Show by which rules an account's payments are split, or change them.",
            ),
            "try": Command(
                "app.commands.account_try:try_account",
                "Open a payment page at the gateway, as for a shopper, and pay there yourself.",
            ),
            "list": Command("app.commands.accounts:show_accounts", "Show all merchant accounts."),
            "show": Command("app.commands.accounts:show_account", "Show everything about one account but its secrets."),
            "check": Command("app.commands.accounts:check_accounts", "Try accounts out at the gateway, harmlessly."),
            "remove": Command("app.commands.accounts:remove", "Delete an account with its keys."),
        },
    ),
    "channels": Group(
        "Which merchant account takes the money of which sales channel.",
        {
            "map": Command(
                "app.commands.channels:map_channel",
                "Let an account take the money of a channel, instead of the one that did if there is one.",
            ),
            "list": Command("app.commands.channels:show_channels", "Show which channels have an account."),
            "check": Command(
                "app.commands.channels:check_channels",
                "Ask a Saleor for its channels, and show what each lacks.",
            ),
            "unmap": Command("app.commands.channels:unmap_channel", "Offer payments in a channel no longer."),
        },
    ),
    "customers": Group(
        "What is kept of a store's customers.",
        {
            "forget": Command(
                "app.commands.customers:forget",
                "Delete the cards that a store keeps of a customer, and keep none of payments that have not ended.",
            ),
            "export": Command(
                "app.commands.customers:export",
                "Write what is kept of a customer as JSON: saved cards, and by e-mail address their payments.",
            ),
        },
    ),
    "card-keys": Group(
        "The keys for which storefronts encrypt cards.",
        {
            "list": Command(
                "app.commands.card_keys:show_keys",
                "Show the card keys of all stores, which of them is offered, and until when.",
            ),
            "rotate": Command(
                "app.commands.card_keys:rotate",
                "Make a new card key for a store and offer it from now on.",
            ),
        },
    ),
    "data": Group(
        "What is kept, and for how long.",
        {
            "prune": Command(
                "app.commands.data:prune",
                "Erase now what is kept no longer: what old payments say of shoppers, what was notified long ago.",
            ),
            "restored": Command(
                "app.commands.data:restored",
                "Say that a backup was put back: what waited to be sent when it was made is looked up instead.",
            ),
        },
    ),
    "secrets": Group(
        "The keys that seal what is secret in the database.",
        {
            "check": Command(
                "app.commands.secrets:check",
                "Show how much is sealed with which key of the secret key file, and which lines can be removed.",
            ),
            "add-key": Command(
                "app.commands.secrets:add", "Put a new key into the secret key file: it seals from then on."
            ),
            "reseal": Command(
                "app.commands.secrets:reseal",
                "Seal everything with the newest key, beside the running app.",
            ),
        },
    ),
    "payments": Group(
        "What became of each payment, and why.",
        {
            "list": Command("app.commands.payment_list:list_payments", "Show the newest payments."),
            "show": Command("app.commands.payment_show:show_payment", "Show the timeline of a payment."),
            "raw": Command(
                "app.commands.payment_raw:show_raw",
                "Show what the gateway was asked and has notified, and what Saleor was told.",
            ),
            "capture": Command(
                "app.commands.payment_act:capture",
                "Charge a reservation, or a part of it: the gateway takes it once, and releases the rest.",
            ),
            "void": Command("app.commands.payment_act:void", "Release a reservation as a whole."),
            "refund": Command("app.commands.payment_act:refund", "Give back what was charged, or a part of it."),
            "cancel": Command(
                "app.commands.payment_act:cancel",
                "Cancel a payment that the shopper has not paid yet: its page is closed.",
            ),
            "cancel-subscription": Command(
                "app.commands.payment_act:end_subscription",
                "Cancel the subscription that a payment has begun: nothing more is charged for it.",
            ),
            "settle": Command(
                "app.commands.payment_settle:settle_payment",
                "Look a payment up at the gateway now, and post what is found.",
            ),
            "resend": Command(
                "app.commands.payment_settle:resend",
                "Ask the gateway to send its notifications of a payment again.",
            ),
            "split": Command(
                "app.commands.payment_split:split",
                "Show whose money a split payment is, or choose from whom its next refund is taken.",
            ),
            "link": Command(
                "app.commands.payment_link:link",
                "Make a link with which a customer pays an order, or what of it is open; the app must be running.",
            ),
            "looked-at": Command(
                "app.commands.looking:acknowledge", "Say that you have looked at a payment's problems."
            ),
        },
    ),
    "payouts": Group(
        "Money that is paid out to cards.",
        {
            "list": Command("app.commands.payouts:list_payouts", "Show the newest payouts."),
            "show": Command(
                "app.commands.payouts:show_payout",
                "Show a payout: who asked for it, who confirmed it, and what became of it.",
            ),
            "send": Command(
                "app.commands.payouts:send", "Pay out to a card that a customer keeps, once it is confirmed."
            ),
        },
    ),
    "look-up": Group(
        "What the gateway has of an order, an operation, a subscription or a period.",
        {
            "order": Command("app.commands.look_up:order", "Show all that the gateway has of an order."),
            "operation": Command(
                "app.commands.look_up:operation", "Show what the gateway has of one kind of operation of an order."
            ),
            "subscription": Command(
                "app.commands.look_up:subscription", "Show the payments or refunds of a subscription."
            ),
            "period": Command("app.commands.look_up:period", "Write the gateway's list of a period while it comes."),
        },
    ),
    "reconcile": Group(
        "Whether the gateway's books and ours agree.",
        {
            "run": Command(
                "app.commands.reconcile:run",
                "Compare accounts' books with the gateway's now, and repair what can be repaired.",
            ),
            "history": Command("app.commands.reconcile_history:history", "Show the newest comparisons."),
            "show": Command("app.commands.reconcile_history:show_run", "Show what a comparison has found."),
            "looked-at": Command(
                "app.commands.reconcile_history:looked_at",
                "Say that you have looked at the paid orders of the gateway's books that are nobody's.",
            ),
        },
    ),
    "money": Command(
        "app.commands.money:money",
        "Show what a period has brought: charged, refunded, charged back, fees and what is left, by both books.",
    ),
    "balances": Command("app.commands.balances:balances", "Show what the merchant has at the gateway."),
    "register": Command(
        "app.commands.register:register", "Write the gateway's register of a period, as CSV or JSON lines."
    ),
    "events": Group(
        "What Saleor is told, and what it has refused.",
        {
            "list": Command("app.commands.events:show_events", "Show the newest events."),
            "retry": Command("app.commands.events:retry", "Tell Saleor events again."),
        },
    ),
    "notifications": Group(
        "What the gateway has notified, and what came of it.",
        {
            "looked-at": Command(
                "app.commands.looking:notifications_looked_at",
                "Say that you have looked at the notifications of which nothing can be made.",
            ),
            "list": Command("app.commands.notifications:show_notifications", "Show the newest notifications."),
            "replay": Command(
                "app.commands.notifications:replay",
                "Make something of notifications again, here and now, just as the worker does when they come.",
            ),
        },
    ),
    "storefront-kit": Command(
        "app.commands.storefront_kit:show_tag",
        "Show the line of HTML with which a storefront's page loads the payment button from this app.",
    ),
    "sandbox": Command(
        "app.sandbox.command:sandbox",
        "Start a gateway of your own: no account, no money, nothing leaves this machine.",
        extra="sandbox",
    ),
    "demo": Command(
        "app.sandbox.demo:demo",
        "Play a whole payment on this machine: a Saleor, a gateway and the app; no account, no money.",
        extra="sandbox",
    ),
}

cli = typer.Typer(name=DISTRIBUTION, cls=OperatorGroup, no_args_is_help=True, pretty_exceptions_enable=False)
add_commands(cli, COMMANDS)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"{DISTRIBUTION} {version_of(DISTRIBUTION)}")
        raise typer.Exit


@cli.callback()
def program(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """The payment app for Saleor stores whose money goes through this gateway."""


def _logs_to_standard_error() -> None:
    from app.logs import configure_logs  # noqa: PLC0415 - nothing is logged before a command is typed

    configure_logs("console", "warning")


def main() -> None:
    """Run a command. Whatever it logs goes to standard error: standard output is for what was asked (``run`` sets
    its logs up again, as the settings say).
    """
    cli(obj=_logs_to_standard_error)


if __name__ == "__main__":
    main()
