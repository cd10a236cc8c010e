"""``accounts try``: a small payment at the gateway's page, to verify that an account works."""

import uuid
from datetime import datetime
from typing import Annotated

import typer

from app.commands import account_flags as flags
from app.commands.arguments import read_amount
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.services import with_services
from app.commands.system_user import user_name
from app.commands.terminal import AsJson, moment, print_line, show_json
from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.flows.trial_payment import SUGGESTED_AMOUNT, Trial, begin_trial
from app.reports.status import standing
from app.rules.refusal import RefusalError
from app.services import Services


def try_account(
    account: flags.Account,
    *,
    email: Annotated[str, typer.Option(metavar="ADDRESS", help="Your e-mail address: the gateway requires one.")],
    phone: Annotated[str, typer.Option(metavar="NUMBER", help="Your phone number: the gateway requires one.")],
    amount: Annotated[str, typer.Option(metavar="AMOUNT", help="The amount to pay.")] = str(SUGGESTED_AMOUNT),
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="The currency. Default: the account's first currency.")
    ] = None,
    first_name: Annotated[str, typer.Option(metavar="NAME", help="If the gateway requires names.")] = "",
    last_name: Annotated[str, typer.Option(metavar="NAME", help="If the gateway requires names.")] = "",
    birthday: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="If the gateway requires the date of birth."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open a payment page at the gateway and pay there yourself, like a shopper.

    It is a payment like any other, but without an order: nothing is sent to Saleor. A live account moves real money.
    """

    async def begin(services: Services) -> PaymentAggregate:
        row = await find_account(services, account)
        paid_in = currency.upper() if currency else row.currencies[0]
        trial = Trial(
            key=uuid.uuid4().hex,
            by=user_name(),
            amount=read_amount(amount, paid_in),
            currency=paid_in,
            email=email,
            phone=phone,
            first_name=first_name,
            last_name=last_name,
            birthday=birthday.date() if birthday else None,
        )
        try:
            return await begin_trial(services, row, trial)
        except RefusalError as refusal:
            raise CommandFailed(refusal.message, status=2) from refusal

    aggregate = with_services(begin)
    payment, create = aggregate.payment, aggregate.create
    if as_json:
        show_json(
            {
                "order_id": payment.order_id,
                "standing": standing(aggregate),
                "amount": payment.amount,
                "currency": payment.currency,
                "checkout_url": payment.checkout_url,
                "expires_at": moment(payment.expires_at),
                "message": create.message,
            }
        )
    elif payment.checkout_url is not None:
        print_line("Pay here:", "bold")
        print_line(payment.checkout_url)
        print_line("")
        print_line(f"Then:  saleor-gateway payments show {payment.order_id}")
    if create.state is State.FAILURE:
        raise CommandFailed(create.message or "the gateway did not open a payment page")
    if payment.checkout_url is None and not as_json:
        print_line(f"{create.message}: saleor-gateway payments show {payment.order_id}")
