"""Formats accounts for a terminal: everything but their secrets."""

from collections.abc import Iterable
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from app.commands.account_flags import flag_of
from app.commands.terminal import add_fact, fact_sheet, moment, plain, table
from app.flows.accounts.channels import AccountView
from app.flows.accounts.check import CheckResult, Limitation, limitation_facts
from app.flows.accounts.gateway_access import CONSEQUENCES
from app.i18n.messages import Money
from app.rules.dialects import dialect_of
from app.rules.requests.payout import currency_of
from app.rules.requests.wallets import wallets_of
from app.store.tables import MerchantAccount, ProductsForm

_PRODUCTS = {
    ProductsForm.NONE: "not sent to the gateway",
    ProductsForm.PLAIN: "sent to the gateway",
    ProductsForm.FISCAL: "sent to the gateway for fiscal receipts",
}
_THREE_DS = {"order_3ds_bypass"}  # an option of its own
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
        "payer_fee_percent": account.payer_fee_percent,
        "sector": account.sector,
        "merchant_mcc": account.merchant_mcc,
        "description_template": account.description_template,
        "attributes": account.attributes,
        "validation_url": account.validation_url,
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
        "payout_staff_ids": account.payout_staff_ids,
        "apple_pay": account.apple_pay,
        "apple_pay_association": account.apple_pay_association,
        "google_pay": account.google_pay,
        "google_pay_gateway": account.google_pay_gateway,
        "google_pay_gateway_merchant": account.google_pay_gateway_merchant,
        "google_pay_merchant": account.google_pay_merchant,
        "reconcile_at": account.reconcile_at,
        "other_orders": account.other_orders,
        "dialect": _dialect_json(account),
        "balances_url": account.balances_url or account.base_url,
        "register_url": account.register_url or account.base_url,
        "enabled": account.enabled,
        "old_secret_until": moment(account.replaced_secrets_until),
        "notification_address": each.notification_address,
        "created_at": moment(account.created_at),
        "updated_at": moment(account.updated_at),
    }


def finding_to_json(finding: CheckResult) -> dict[str, object]:
    """Return the result of a check, for scripts."""
    account = finding.view.account
    return {
        "account": account.id,
        "name": account.name,
        "ok": finding.failure is None,
        "wrong": None if finding.failure is None else str(finding.failure),
        "warnings": describe_limitations(finding),
        "dialect": {found.option: found.value for found in finding.dialect},
        "areas": {
            area.area.name.lower(): {"access": area.access.value, "why": None if area.works else str(area.why)}
            for area in finding.areas
        },
    }


def describe_limitations(finding: CheckResult) -> list[str]:
    """Return the texts of the limitations, each with the command that fixes it, if there is one."""
    account, facts = finding.view.account, limitation_facts(finding.view)
    commands = {
        Limitation.NOTIFICATIONS: ": set APP_BASE_URL to one that it can call",
        Limitation.CHANNEL: f": run `saleor-gateway channels map CHANNEL {account.id}`",
        Limitation.STOREFRONT: f": run `saleor-gateway accounts set {account.id} --storefront ORIGIN`",
        Limitation.PAYOUT_LIMITS: (
            f": run `saleor-gateway accounts set {account.id} --payout-most AMOUNT --payout-most-a-day AMOUNT`"
        ),
        Limitation.PAYOUT_STAFF: f": run `saleor-gateway accounts set {account.id} --payout-staff EMAIL`",
    }
    return [limitation.value % facts + commands.get(limitation, "") for limitation in finding.limitations]


def describe_warnings(finding: CheckResult) -> list[str]:
    """Return the texts of everything that a check has found besides a failure."""
    return [*_describe_areas(finding), *_describe_dialect(finding), *describe_limitations(finding)]


def _describe_dialect(finding: CheckResult) -> list[str]:
    """Return the texts of what the gateway decides otherwise, each with the command that follows it."""
    account = finding.view.account.id
    return [
        f"{found.why}: run `saleor-gateway accounts set {account} {flag_of(found.option)} {found.value}`"
        for found in finding.dialect
    ]


def _describe_areas(finding: CheckResult) -> list[str]:
    """Return the texts of the areas that cannot be used: why, and the consequences."""
    return [
        f"{area.area}: {area.access}: {area.why}. {CONSEQUENCES[area.area]}" for area in finding.areas if not area.works
    ]


def as_table(views: Iterable[AccountView]) -> Table:
    """Return the accounts of one Saleor as a table."""
    accounts = table("Account", "Point of sale, gateway", "Currencies", "Channels")
    accounts.columns[1].min_width = 36  # a UUID, which people compare
    for view in views:
        account = view.account
        name = Text(plain(account.name), "bold")
        if not account.enabled:
            name.append(" (switched off)", "yellow")
        accounts.add_row(
            Text.assemble(name, "\n", account.id),
            Text(plain(f"{account.pos_id}") + "\n" + plain(account.base_url)),
            " ".join(account.currencies),
            Text("\n".join(map(plain, view.channels))) if view.channels else Text("none", "yellow"),
        )
    return accounts


def as_facts(each: AccountView) -> Table:
    """Return everything about one account but its secrets, one fact a line."""
    account = each.account
    facts = fact_sheet()
    add_fact(facts, "account", f"{account.name} ({account.id})", "bold")
    add_fact(facts, "state", "switched on" if account.enabled else "switched off")
    add_fact(facts, "keys", "for a test project" if account.test_project else "for a live project")
    if account.replaced_secrets_until is not None:
        add_fact(
            facts,
            "old API secret",
            f"verifies notifications until {account.replaced_secrets_until:%Y-%m-%d %H:%M} UTC",
        )
    add_fact(facts, "Saleor", each.saleor)
    add_fact(facts, "channels", ", ".join(each.channels) or "none")
    add_fact(facts, "point of sale", account.pos_id)
    add_fact(facts, "gateway", f"{account.base_url} ({account.scheme_word})")
    add_fact(facts, "currencies", ", ".join(account.currencies))
    add_fact(facts, "storefronts", ", ".join(account.storefront_origins) or "none")
    looks = [part for part in (account.shop_name, account.shop_logo, account.shop_color) if part]
    add_fact(facts, "shop", ", ".join(looks) or "no name, logo or colour on shoppers' pages")
    add_fact(facts, "time to pay", f"{account.order_timeout} seconds")
    add_fact(facts, "names", "required" if account.names_required else "optional")
    percent = account.payer_fee_percent
    add_fact(facts, "gateway's fee", f"paid by the payer, up to {percent} %" if percent else "paid by the store")
    add_fact(facts, "sector", account.sector + (f", category {account.merchant_mcc}" if account.merchant_mcc else ""))
    add_fact(facts, "payment description", account.description_template or "Order or Payment, and its number")
    add_fact(facts, "own attributes", ", ".join(account.attributes) or "none")
    add_fact(facts, "preflight requests to", account.validation_url or "none")
    add_fact(facts, "products", _PRODUCTS[account.products])
    add_fact(
        facts, "receipts", f"by {account.receipt_delivery}" if account.receipt_delivery else "as set at the gateway"
    )
    add_fact(facts, "3-D Secure", account.order_3ds_bypass)
    add_fact(facts, "older pages", "closed by a new payment attempt" if account.cancel_older else "stay open")
    add_fact(facts, "cards in storefronts", _describe_pci_dss(account))
    add_fact(facts, "saved cards", "saved for customers who agree" if account.saved_cards else "none")
    add_fact(facts, "subscriptions", "storefronts may start them (provisional)" if account.subscriptions else "none")
    add_fact(facts, "payouts to cards", _describe_payouts(account))
    add_fact(facts, "wallets", " and ".join(_WALLETS[name] for name in wallets_of(account)) or "none")
    add_fact(facts, "records compared", f"each night at {account.reconcile_at}:00 UTC")
    add_fact(facts, "orders of other shops", ", ".join(account.other_orders) or "none")
    dialect = _dialect_json(account)
    add_fact(facts, "dialect", f"{dialect.pop('preset')}: {', '.join(f'{name} {dialect[name]}' for name in dialect)}")
    add_fact(facts, "balances from", account.balances_url or account.base_url)
    add_fact(facts, "registers from", account.register_url or account.base_url)
    add_fact(facts, "notification address", f"{each.notification_address} (sent to the gateway with each payment)")
    return facts


def _dialect_json(account: MerchantAccount) -> dict[str, str]:
    """Return the dialect's preset, and what it comes to with the account's changes."""
    decided = {name: str(value) for name, value in asdict(dialect_of(account)).items() if name not in _THREE_DS}
    return {"preset": account.dialect, **decided}


def _describe_payouts(account: MerchantAccount) -> str:
    if not account.payouts:
        return "none"
    currency = currency_of(account)
    most, a_day = (
        "nothing" if limit is None else str(Money(limit, currency))
        for limit in (account.payout_most, account.payout_most_a_day)
    )
    return f"at most {most} at once and {a_day} in 24 hours, by {', '.join(account.payout_staff) or 'nobody'}"


def _describe_pci_dss(account: MerchantAccount) -> str:
    at = account.pci_dss_confirmed_at
    return f"PCI DSS confirmed on {at:%Y-%m-%d}" if at else "none: shoppers pay on the gateway's page"
