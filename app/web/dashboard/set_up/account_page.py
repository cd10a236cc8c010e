"""Builds the page of one merchant account. It contains no secret: of two, the last four characters at most."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.flows.accounts.channels import AccountView, load_view
from app.flows.accounts.check import Limitation
from app.rules.accounts.option import Option
from app.rules.accounts.options import OPTIONS
from app.rules.split.example import Example, worked_example
from app.rules.split.rules import RulesError, SplitRules, format_rules, read_rules
from app.services import Services
from app.store.columns import fingerprint
from app.store.reconciliations import covered_until, is_being_compared
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from app.web.dashboard.set_up.forms import GROUPS
from app.web.dashboard.set_up.operator_notices import OperatorNotice, operator_notices, owner_limitations
from app.web.dashboard.set_up.split_table import SellerRow, seller_rows

_SHOWN = 4
# The hidden rest must still be as strong as a whole key.
_LONG_ENOUGH = 16


@dataclass(frozen=True)
class AccountPage:
    """An account. ``endings`` are the last characters of those keys of which any are shown.

    ``lacks`` are the problems that its owner can fix, ``notices`` those that only the operator can.

    ``opens``: whether the keys can be read at all. ``several_old_secrets``: not only the one replaced last verifies.
    ``notified_at`` is the time of the newest verified notification; ``compared_until``: its books are compared with the
    gateway's up to then; ``comparing``: a comparison is running.
    """

    view: AccountView
    account: MerchantAccount
    lacks: Sequence[Limitation]
    notices: Sequence[OperatorNotice]
    endings: Mapping[str, str]
    opens: bool
    old_secret_until: datetime | None
    several_old_secrets: bool
    notified_at: datetime | None
    compared_until: datetime | None
    comparing: bool
    groups: Mapping[str, Sequence[tuple[Option, object]]]
    rules: SplitRules | None
    rules_tried: bool
    rules_text: str
    rules_version: str
    split_rows: Sequence[SellerRow]
    example: Example
    sellers: Sequence[str]


async def read_account_page(
    services: Services, account: MerchantAccount, tried: SplitRules | None = None
) -> AccountPage:
    """Return the page of an account; ``tried`` are split rules to show instead of the stored ones."""
    account_view = await load_view(services, account)
    endings = _key_endings(services, account)
    until, older_until = account.replaced_secrets_until, account.older_api_secrets_until
    rules = tried or _valid_rules(account)
    async with services.database.transaction() as session:
        compared_until = await covered_until(session, account.id)
        comparing = await is_being_compared(session, account.id)
    example = worked_example(rules or SplitRules(), account.currencies[0] if account.currencies else "UAH")
    return AccountPage(
        view=account_view,
        account=account,
        lacks=owner_limitations(account_view),
        notices=operator_notices(account_view, opens=endings is not None),
        endings=endings or {},
        opens=endings is not None,
        old_secret_until=until if until is not None and services.now() < until else None,
        several_old_secrets=older_until is not None and services.now() < older_until,
        notified_at=await services.inbox.newest_received_at(account.id),
        compared_until=compared_until,
        comparing=comparing,
        groups={title: [(OPTIONS[name], OPTIONS[name].value_in(account)) for name in names] for title, names in GROUPS},
        rules=rules,
        rules_tried=tried is not None,
        rules_text=format_rules(rules) if rules else _format_invalid(account.split_rules),
        rules_version=fingerprint(account.split_rules),
        split_rows=seller_rows(rules or SplitRules()),
        example=example,
        sellers=sorted({who for step in example.steps for who in step.shares}),
    )


def can_open_keys(services: Services, account: MerchantAccount) -> bool:
    """Return True when the keys of an account can be opened."""
    return _key_endings(services, account) is not None


def _key_endings(services: Services, account: MerchantAccount) -> dict[str, str] | None:
    """Return the endings by which people recognise the keys; None when the keys cannot be opened.

    The API secret is left out: an attacker who has one notification can test any number of secrets against its
    signature. The other keys can only be tested at the gateway.
    """
    try:
        keys = services.accounts.keys(account)
    except VaultError:
        return None
    known = {"api_key": keys.api_key, "endpoints_key": keys.endpoints_key}
    return {name: key[-_SHOWN:] for name, key in known.items() if len(key) >= _LONG_ENOUGH}


def stored_rules(account: MerchantAccount) -> SplitRules:
    """Return the stored rules; those that split nothing when they are no longer valid."""
    return _valid_rules(account) or SplitRules()


def _valid_rules(account: MerchantAccount) -> SplitRules | None:
    """Return the stored rules; None when they are no longer valid."""
    try:
        return read_rules(account.split_rules)
    except RulesError:
        return None


def _format_invalid(stored: Mapping[str, object] | None) -> str:
    return "" if stored is None else json.dumps(stored, indent=2, ensure_ascii=False)
