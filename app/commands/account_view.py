"""How an account is shown: everything but its secrets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from app.commands.terminal import fact, fact_sheet, moment, plain, table
from app.ledger.tables import MerchantAccount, ProductsForm
from app.payments.desk import Desk

_PRODUCTS = {
    ProductsForm.NONE: "not told to the gateway",
    ProductsForm.PLAIN: "told to the gateway",
    ProductsForm.FISCAL: "told to the gateway for fiscal receipts",
}


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account with what belongs to it. ``saleor`` is an API address, ``channels`` are slugs."""

    account: MerchantAccount
    saleor: str
    channels: tuple[str, ...]
    notification_address: str

    def to_json(self) -> dict[str, object]:
        """Return it for scripts; ``order_timeout`` in seconds."""
        account = self.account
        return {
            "id": account.id,
            "name": account.name,
            "saleor": self.saleor,
            "pos_id": account.pos_id,
            "base_url": account.base_url,
            "scheme_word": account.scheme_word,
            "currencies": account.currencies,
            "storefronts": account.storefront_origins,
            "channels": list(self.channels),
            "order_timeout": account.order_timeout,
            "names_required": account.names_required,
            "sector": account.sector,
            "merchant_mcc": account.merchant_mcc,
            "description_template": account.description_template,
            "products": account.products.value,
            "receipt_delivery": account.receipt_delivery,
            "order_3ds_bypass": account.order_3ds_bypass,
            "cancel_older": account.cancel_older,
            "pci_dss_confirmed_at": moment(account.pci_dss_confirmed_at) if account.pci_dss_confirmed_at else None,
            "balances_url": account.balances_url or account.base_url,
            "register_url": account.register_url or account.base_url,
            "enabled": account.enabled,
            "notification_address": self.notification_address,
            "created_at": moment(account.created_at),
            "updated_at": moment(account.updated_at),
        }


async def views(desk: Desk, accounts: Sequence[MerchantAccount] | None = None) -> list[AccountView]:
    """Return the views of ``accounts``, of all by default."""
    saleors = {each.id: each.saleor_api_url for each in await desk.installations.all()}
    routes = await desk.accounts.routes()
    return [
        AccountView(
            account=account,
            saleor=saleors[account.installation_id],
            channels=tuple(route.channel for route in routes if route.account_id == account.id),
            notification_address=desk.addresses.notifications(account.id),
        )
        for account in (await desk.accounts.all() if accounts is None else accounts)
    ]


async def view(desk: Desk, account: MerchantAccount) -> AccountView:
    """Return the view of one account."""
    return (await views(desk, [account]))[0]


def as_table(shown: Iterable[AccountView]) -> Table:
    """Return the accounts of one Saleor as a table."""
    accounts = table("Account", "Point of sale, gateway", "Takes", "Channels")
    accounts.columns[1].min_width = 36  # a UUID, which people compare
    for each in shown:
        account = each.account
        name = Text(plain(account.name), "bold")
        if not account.enabled:
            name.append(" (switched off)", "yellow")
        accounts.add_row(
            Text.assemble(name, "\n", account.id),
            Text(plain(f"{account.pos_id}") + "\n" + plain(account.base_url)),
            " ".join(account.currencies),
            Text("\n".join(map(plain, each.channels))) if each.channels else Text("none", "yellow"),
        )
    return accounts


def as_facts(each: AccountView) -> Table:
    """Return everything about one account, a line each."""
    account = each.account
    facts = fact_sheet()
    fact(facts, "account", f"{account.name} ({account.id})", "bold")
    fact(facts, "state", "switched on" if account.enabled else "switched off")
    fact(facts, "Saleor", each.saleor)
    fact(facts, "channels", ", ".join(each.channels) or "none")
    fact(facts, "point of sale", account.pos_id)
    fact(facts, "gateway", f"{account.base_url} ({account.scheme_word})")
    fact(facts, "takes", ", ".join(account.currencies))
    fact(facts, "storefronts", ", ".join(account.storefront_origins) or "none")
    fact(facts, "time to pay", f"{account.order_timeout} seconds")
    fact(facts, "names", "required" if account.names_required else "optional")
    fact(facts, "sector", account.sector + (f", category {account.merchant_mcc}" if account.merchant_mcc else ""))
    fact(facts, "payments are called", account.description_template or "Order or Payment, and its number")
    fact(facts, "products", _PRODUCTS[account.products])
    fact(facts, "receipts", f"by {account.receipt_delivery}" if account.receipt_delivery else "as the gateway has it")
    fact(facts, "3-D Secure", account.order_3ds_bypass)
    fact(facts, "older pages", "closed by a new attempt to pay" if account.cancel_older else "stay open")
    fact(facts, "cards in storefronts", _confirmed(account))
    fact(facts, "balances at", account.balances_url or account.base_url)
    fact(facts, "registers at", account.register_url or account.base_url)
    fact(facts, "notified at", f"{each.notification_address} (we tell the gateway with each payment)")
    return facts


def _confirmed(account: MerchantAccount) -> str:
    at = account.pci_dss_confirmed_at
    return f"PCI DSS confirmed on {at:%Y-%m-%d}" if at else "none: shoppers pay on the gateway's page"
