"""``payments split``: the shares of a payment, and a choice from whom its next refund is taken instead of by rules."""

from decimal import Decimal
from typing import Annotated

import typer

from app.commands.arguments import read_shares
from app.commands.failure import CommandFailed
from app.commands.finders import find_payment
from app.commands.payment_shares import format_shares, share_table, shares_to_json
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_line, show, show_json
from app.core.payment import PaymentAggregate, row_id_of
from app.i18n.messages import Money
from app.rules.decisions.refund_split import RefundSplitChosen
from app.rules.refusal import RefusalError
from app.rules.split.rules import names_of
from app.rules.split.standing import chosen_shares, is_split
from app.services import Services
from app.store.aggregates import ById
from app.store.tables import MerchantAccount


def split(
    payment: Annotated[
        str,
        typer.Argument(
            metavar="ORDER_ID|TRANSACTION_ID",
            help="The gateway's order ID, or the ID of the transaction in Saleor.",
            show_default=False,
        ),
    ],
    *,
    take: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SUB_MERCHANT=AMOUNT",
            help="For the next refund, take this amount from this sub-merchant (UUID, or name in the rules); can be "
            "repeated.",
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Let the next refund follow the rules again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a split payment is shared, or choose who pays for its next refund.

    The next refund must then be of the chosen amount. This command moves no money: make the refund in the Dashboard.
    """
    if take and clear:
        raise CommandFailed("use either --take or --clear", status=2)

    async def do(services: Services) -> tuple[PaymentAggregate, MerchantAccount]:
        async with services.database.transaction() as session:
            found = await find_payment(session, payment.strip())

        if not is_split(found):
            raise CommandFailed("this payment is not split among sub-merchants")
        account = await services.accounts.find(found.payment.account_id)
        assert account is not None  # noqa: S101 - it lasts as long as its payments
        if not (take or clear):
            return found, account
        taken_from = read_shares(take, names_of(account.split_rules), found.payment.currency) if take else None
        chosen = RefundSplitChosen(taken_from, services.now())
        try:
            return await services.payments.record(ById(row_id_of(found.payment)), chosen), account
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was changed: {refusal.message}") from refusal

    aggregate, account = with_services(do)
    if as_json:
        show_json({"order_id": aggregate.payment.order_id, **shares_to_json(aggregate)})
        return
    names, chosen = names_of(account.split_rules), chosen_shares(aggregate)
    show(share_table(aggregate, names))
    show()
    if chosen:
        total = Money(sum(chosen.values(), Decimal()), aggregate.payment.currency)
        print_line(f"The next refund must be of {total}, and will be taken from:", "bold")
        show(format_shares(chosen, names, aggregate.payment.currency))
    else:
        print_line("The next refund follows the refunded lines or, without them, what is left of each share.")
