"""All that staff are shown of one payment. It holds nothing of the shopper, and of a card no more than its mask."""

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from app.dashboard.payments.actions import Offer, offers
from app.ledger.inbox import Kept
from app.ledger.sheets import Sheet, find_by_order
from app.ledger.tables import MerchantAccount, Payment, SaleorEvent
from app.payments.desk import Desk
from app.payments.learn.retry import undigested, untold
from app.payments.outcome.balance import Balance, balance
from app.payments.outcome.particulars import Particulars
from app.payments.outcome.problems import needs_decision, open_problems
from app.payments.show.expectations import Expected, expectations
from app.payments.show.standing import Standing, standings
from app.payments.show.timeline import Entry, timeline
from app.payments.split.choice import chosen_in
from app.payments.split.overview import OneOfThem, overview
from app.payments.split.rules import names_of
from app.payments.split.standing import is_split, standing_of


@dataclass(frozen=True)
class PaymentPage:
    """A payment. ``split`` is empty when it is not split; ``chosen_total`` None when the next refund goes by rules.

    ``said`` is what the gateway said of the payment itself, ``receipts`` those of all operations. ``saleor_order`` is
    the path of the order in the Dashboard, None where there is none yet. ``untold`` and ``undigested`` can be told, or
    made something of, again; ``needs_decision``: only a person can say how it ended.
    """

    sheet: Sheet
    notifications: Sequence[Kept]
    standings: tuple[Standing, ...]
    problems: list[str]
    now: Balance
    offers: list[Offer]
    said: Particulars
    receipts: list[str]
    split: list[OneOfThem]
    assumed: bool
    chosen_total: Decimal | None
    account: str
    saleor_order: str | None
    untold: list[SaleorEvent]
    undigested: list[Kept]
    needs_decision: bool
    entries: list[Entry]
    expected: list[Expected]

    @property
    def payment(self) -> Payment:
        """The payment itself."""
        return self.sheet.payment


async def read_page(desk: Desk, installation_id: int, order_id: str) -> PaymentPage | None:
    """Return what is known of a payment of that store; None when it has no such payment."""
    async with desk.database.transaction() as session:
        sheet = await find_by_order(session, order_id, installation_id=installation_id)
        if sheet is None:
            return None
        account = await session.get_one(MerchantAccount, sheet.payment.account_id)
    notifications = await desk.inbox.of_order(account.id, sheet.payment.order_id)
    names = names_of(account.split_rules)
    split, chosen = is_split(sheet), chosen_in(sheet)
    now = balance(sheet.payment.flow, sheet.operations)
    return PaymentPage(
        sheet=sheet,
        notifications=notifications,
        standings=standings(sheet),
        problems=list(open_problems(sheet.payment).values()),
        now=now,
        offers=offers(now),
        said=Particulars.kept(sheet.create.particulars),
        receipts=_receipts(sheet),
        split=overview(sheet, names) if split else [],
        assumed=split and standing_of(sheet).assumed,
        chosen_total=None if chosen is None else sum(chosen.values(), Decimal()),
        account=account.name,
        saleor_order=_path_of_order(sheet.payment.source_id),
        untold=untold(sheet),
        undigested=undigested(notifications),
        needs_decision=any(needs_decision(cause) for cause in open_problems(sheet.payment)),
        entries=timeline(sheet, notifications, names),
        expected=expectations(sheet, notifications),
    )


def _receipts(sheet: Sheet) -> list[str]:
    said = (Particulars.kept(each.particulars).receipt_url for each in sheet.operations)
    return list(dict.fromkeys(address for address in said if address))


def _path_of_order(source_id: str) -> str | None:
    """Return where the Dashboard shows the order that was paid; None while it is a checkout."""
    with suppress(binascii.Error, UnicodeDecodeError):
        if base64.b64decode(source_id, validate=True).decode().startswith("Order:"):
            return f"/orders/{quote(source_id, safe='')}"
    return None
