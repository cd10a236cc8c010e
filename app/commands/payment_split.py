"""``payments split``: from whom the next refund of a payment is taken, when staff want it otherwise than the rules."""

from decimal import Decimal
from typing import Annotated

import typer

from app.commands.amounts import read_shares
from app.commands.failure import CommandFailed
from app.commands.finding import find_payment
from app.commands.opening import with_services
from app.commands.payment_shares import share_table, share_words, shares_to_json
from app.commands.terminal import AsJson, say, show, show_json
from app.db.aggregates import PaymentAggregate, load_by_order
from app.db.tables import MerchantAccount
from app.payments.core.refusal import RefusalError
from app.payments.services import Services
from app.payments.split.choice import choose, chosen_in, leave_it_to_the_rules
from app.payments.split.rules import names_of
from app.payments.split.standing import is_split


def split(
    payment: Annotated[
        str,
        typer.Argument(
            metavar="ORDER_ID|TRANSACTION_ID",
            help="The gateway's order id, or the id of the transaction in Saleor.",
            show_default=False,
        ),
    ],
    *,
    take: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUB_MERCHANT=AMOUNT",
            help="Take so much of the next refund from that one (its UUID, or its name in the rules); may be repeated.",
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Leave the next refund to the rules again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show whose money a split payment is, or choose from whom its next refund is taken.

    The next refund must then be of the amount chosen. Nothing moves by this command: refund in the Dashboard.
    """
    if take and clear:
        raise CommandFailed("give either --take or --clear", status=2)

    async def do(services: Services) -> tuple[PaymentAggregate, MerchantAccount]:
        async with services.database.transaction() as session:
            found = await find_payment(session, payment.strip())
        # Read again where it is locked: what is left of each share may have changed in between.
        async with services.database.transaction() as session:
            aggregate = await load_by_order(session, found.payment.order_id)
            assert aggregate is not None  # noqa: S101 - it was found a moment ago
            if not is_split(aggregate):
                raise CommandFailed("this payment is not split among sub-merchants")
            account = await session.get_one(MerchantAccount, aggregate.payment.account_id)
            names = names_of(account.split_rules)
            try:
                if take:
                    choose(aggregate, read_shares(take, names), services.now(), names)
                elif clear:
                    leave_it_to_the_rules(aggregate, services.now())
            except RefusalError as refusal:
                raise CommandFailed(f"nothing was changed: {refusal.message}") from refusal
        return aggregate, account

    aggregate, account = with_services(do)
    if as_json:
        show_json({"order_id": aggregate.payment.order_id, **shares_to_json(aggregate)})
        return
    names, chosen = names_of(account.split_rules), chosen_in(aggregate)
    show(share_table(aggregate, names))
    show()
    if chosen:
        total = sum(chosen.values(), Decimal())
        say(f"The next refund must be of {total} {aggregate.payment.currency}, and is taken from:", "bold")
        show(share_words(chosen, names, aggregate.payment.currency))
    else:
        say("The next refund goes by the refunded lines, else by what is left of each share.")
