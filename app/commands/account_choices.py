"""What a store can choose of an account's payments, as options: ``app.payments.account_options`` reads them."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from app.gateway.models import ReceiptDelivery, Sector
from app.ledger.tables import ProductsForm
from app.payments.account_options import OptionRefusedError, ThreeDs, choices, read_options
from app.payments.description import PLACEHOLDERS

_FLAGS = {
    "sector": "--sector",
    "merchant_mcc": "--mcc",
    "description_template": "--description",
    "products": "--products",
    "receipt_delivery": "--receipt",
    "order_3ds_bypass": "--3ds",
    "balances_url": "--balances-url",
    "register_url": "--register-url",
}

MerchantSector = Annotated[
    str | None,
    typer.Option(
        "--sector",
        metavar="SECTOR",
        help=f"What the merchant sells, where the gateway asks more of shoppers: {choices(Sector)}.",
    ),
]
Mcc = Annotated[
    str | None,
    typer.Option("--mcc", metavar="CODE", help='The merchant category code told with payments; "" tells none.'),
]
Description = Annotated[
    str | None,
    typer.Option(
        "--description",
        metavar="TEXT",
        help="What payments are called at the gateway, with "
        + ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        + ' in it; "" is the usual one.',
    ),
]
ProductsTold = Annotated[
    str | None,
    typer.Option(
        "--products", metavar="FORM", help=f"Whether and how the gateway is told what is sold: {choices(ProductsForm)}."
    ),
]
Receipt = Annotated[
    str | None,
    typer.Option(
        "--receipt",
        metavar="WAY",
        help=f'How shoppers get fiscal receipts: {choices(ReceiptDelivery)}; "" leaves it to the gateway.',
    ),
]
ThreeDSecure = Annotated[
    str | None,
    typer.Option("--3ds", metavar="WHEN", help=f"When 3-D Secure is asked for: {choices(ThreeDs)}."),
]
CancelOlder = Annotated[
    bool | None,
    typer.Option(
        "--cancel-older/--keep-older",
        help="Whether a new attempt to pay closes older unpaid payment pages of the same checkout; it does at first.",
    ),
]
DirectCards = Annotated[
    bool | None,
    typer.Option(
        "--confirm-pci-dss/--no-direct-cards",
        help="Confirm that the store is PCI DSS certified to take cards in its storefront, or take that back.",
    ),
]
BalancesUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help='Where balances are asked for; "" is where payments are made.'),
]
RegisterUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help='Where registers are asked for; "" is where payments are made.'),
]


def read_columns(**given: str | bool | None) -> dict[str, object]:
    """Return the columns that are to be set (``account_options.read_options``). Raises BadParameter."""
    try:
        return read_options(given, datetime.now(UTC))
    except OptionRefusedError as exc:
        raise typer.BadParameter(exc.words, param_hint=_FLAGS[exc.name]) from exc
