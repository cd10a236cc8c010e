"""How an account is written in a terminal: everything but its secrets."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from app.commands.terminal import fact, fact_sheet, moment, plain, table
from app.db.tables import MerchantAccount, ProductsForm
from app.payments.accounts.areas import LOST
from app.payments.accounts.channels import AccountView
from app.payments.accounts.check import Finding, Lack, facts_of
from app.payments.requests.payout import currency_of
from app.payments.requests.wallets import wallets_of

_PRODUCTS = {
    ProductsForm.NONE: "not told to the gateway",
    ProductsForm.PLAIN: "told to the gateway",
    ProductsForm.FISCAL: "told to the gateway for fiscal receipts",
}
_WALLETS = {"applePay": "Apple Pay", "googlePay": "Google Pay"}


def to_json(each: AccountView) -> dict[str, object]:
    """Return an account for scripts; ``order_timeout`` in seconds."""
    account = each.account
    return {
        "id": account.id,
        "name": account.name,
        "saleor": each.saleor,
        "pos_id": account.pos_id,
        "base_url": account.base_url,
        "scheme_word": account.scheme_word,
        "test_project": account.test_project,
        "currencies": account.currencies,
        "storefronts": account.storefront_origins,
        "shop_name": account.shop_name,
        "shop_logo": account.shop_logo,
        "shop_color": account.shop_color,
        "channels": list(each.channels),
        "order_timeout": account.order_timeout,
        "names_required": account.names_required,
        "sector": account.sector,
        "merchant_mcc": account.merchant_mcc,
        "description_template": account.description_template,
        "products": account.products.value,
        "receipt_delivery": account.receipt_delivery,
        "order_3ds_bypass": account.order_3ds_bypass,
        "cancel_older": account.cancel_older,
        "pci_dss_confirmed_at": moment(account.pci_dss_confirmed_at),
        "saved_cards": account.saved_cards,
        "subscriptions": account.subscriptions,
        "payouts": account.payouts,
        "payout_most": account.payout_most,
        "payout_most_a_day": account.payout_most_a_day,
        "payout_staff": account.payout_staff,
        "apple_pay": account.apple_pay,
        "apple_pay_association": account.apple_pay_association,
        "google_pay": account.google_pay,
        "google_pay_gateway": account.google_pay_gateway,
        "google_pay_gateway_merchant": account.google_pay_gateway_merchant,
        "google_pay_merchant": account.google_pay_merchant,
        "reconcile_at": account.reconcile_at,
        "balances_url": account.balances_url or account.base_url,
        "register_url": account.register_url or account.base_url,
        "enabled": account.enabled,
        "old_secret_until": moment(account.previous_api_secret_until),
        "notification_address": each.notification_address,
        "created_at": moment(account.created_at),
        "updated_at": moment(account.updated_at),
    }


def finding_to_json(finding: Finding) -> dict[str, object]:
    """Return what a check found, for scripts."""
    account = finding.view.account
    return {
        "account": account.id,
        "name": account.name,
        "ok": finding.wrong is None,
        "wrong": None if finding.wrong is None else str(finding.wrong),
        "warnings": lacks_in_words(finding),
        "areas": {
            each.area.name.lower(): {"access": each.access.value, "why": None if each.works else str(each.why)}
            for each in finding.areas
        },
    }


def lacks_in_words(finding: Finding) -> list[str]:
    """Return what will be missed, each with the command that mends it, if one does."""
    account, facts = finding.view.account, facts_of(finding.view)
    commands = {
        Lack.NOTIFICATIONS: ": set APP_BASE_URL to one that it can call",
        Lack.CHANNEL: f": run `saleor-gateway channels map CHANNEL {account.id}`",
        Lack.STOREFRONT: f": run `saleor-gateway accounts set {account.id} --storefront ORIGIN`",
        Lack.PAYOUT_LIMITS: (
            f": run `saleor-gateway accounts set {account.id} --payout-most AMOUNT --payout-most-a-day AMOUNT`"
        ),
        Lack.PAYOUT_STAFF: f": run `saleor-gateway accounts set {account.id} --payout-staff EMAIL`",
    }
    return [each.value % facts + commands.get(each, "") for each in finding.lacks]


def areas_in_words(finding: Finding) -> list[str]:
    """Return which areas cannot be used, why, and what is missed without each."""
    return [f"{each.area}: {each.access}: {each.why}. {LOST[each.area]}" for each in finding.areas if not each.works]


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
    fact(facts, "keys", "of a test project" if account.test_project else "of a live project")
    if account.previous_api_secret_until is not None:
        fact(
            facts,
            "old API secret",
            f"verifies notifications until {account.previous_api_secret_until:%Y-%m-%d %H:%M} UTC",
        )
    fact(facts, "Saleor", each.saleor)
    fact(facts, "channels", ", ".join(each.channels) or "none")
    fact(facts, "point of sale", account.pos_id)
    fact(facts, "gateway", f"{account.base_url} ({account.scheme_word})")
    fact(facts, "takes", ", ".join(account.currencies))
    fact(facts, "storefronts", ", ".join(account.storefront_origins) or "none")
    looks = [each for each in (account.shop_name, account.shop_logo, account.shop_color) if each]
    fact(facts, "shop", ", ".join(looks) or "has no name, logo or colour on shoppers' pages")
    fact(facts, "time to pay", f"{account.order_timeout} seconds")
    fact(facts, "names", "required" if account.names_required else "optional")
    fact(facts, "sector", account.sector + (f", category {account.merchant_mcc}" if account.merchant_mcc else ""))
    fact(facts, "payments are called", account.description_template or "Order or Payment, and its number")
    fact(facts, "products", _PRODUCTS[account.products])
    fact(facts, "receipts", f"by {account.receipt_delivery}" if account.receipt_delivery else "as the gateway has it")
    fact(facts, "3-D Secure", account.order_3ds_bypass)
    fact(facts, "older pages", "closed by a new attempt to pay" if account.cancel_older else "stay open")
    fact(facts, "cards in storefronts", _confirmed(account))
    fact(facts, "saved cards", "kept for customers who agree" if account.saved_cards else "none")
    fact(facts, "subscriptions", "storefronts may begin them (provisional)" if account.subscriptions else "none")
    fact(facts, "payouts to cards", _payouts(account))
    fact(facts, "wallets", " and ".join(_WALLETS[name] for name in wallets_of(account)) or "none")
    fact(facts, "books compared", f"each night, at {account.reconcile_at}:00 UTC")
    fact(facts, "balances at", account.balances_url or account.base_url)
    fact(facts, "registers at", account.register_url or account.base_url)
    fact(facts, "notified at", f"{each.notification_address} (we tell the gateway with each payment)")
    return facts


def _payouts(account: MerchantAccount) -> str:
    if not account.payouts:
        return "none"
    currency = currency_of(account)
    most, a_day = (
        "nothing" if each is None else f"{each} {currency}" for each in (account.payout_most, account.payout_most_a_day)
    )
    return f"at most {most} at once and {a_day} in 24 hours, by {', '.join(account.payout_staff) or 'nobody'}"


def _confirmed(account: MerchantAccount) -> str:
    at = account.pci_dss_confirmed_at
    return f"PCI DSS confirmed on {at:%Y-%m-%d}" if at else "none: shoppers pay on the gateway's page"
