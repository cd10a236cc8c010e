"""``payments``: what became of each payment, and why; and what staff can do when it does not go on by itself."""

import typer

from app.commands.looking import looked_at
from app.commands.payment_act import cancel, capture, refund, void
from app.commands.payment_link import link
from app.commands.payment_list import list_payments
from app.commands.payment_raw import show_raw
from app.commands.payment_settle import resend, settle_payment
from app.commands.payment_show import show_payment
from app.commands.payment_split import split

commands = typer.Typer(help="What became of each payment, and why.", no_args_is_help=True)
commands.command("list")(list_payments)
commands.command("show")(show_payment)
commands.command("raw")(show_raw)
commands.command("capture")(capture)
commands.command("void")(void)
commands.command("refund")(refund)
commands.command("cancel")(cancel)
commands.command("settle")(settle_payment)
commands.command("resend")(resend)
commands.command("split")(split)
commands.command("link")(link)
commands.command("looked-at")(looked_at)
