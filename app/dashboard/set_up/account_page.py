"""All that is shown of one merchant account. It holds no secret: of two, their last four characters at most."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.dashboard.set_up.forms import GROUPS
from app.dashboard.set_up.operator_notices import OperatorNotice, lacks_of_owner, operator_notices
from app.db.reconciliations import covered_until, is_being_compared
from app.db.tables import MerchantAccount
from app.db.vault import VaultError
from app.payments.accounts.channels import AccountView, view
from app.payments.accounts.check import Lack
from app.payments.accounts.options import OPTIONS, Option
from app.payments.services import Services
from app.payments.split.example import Example, worked_example
from app.payments.split.rules import RulesError, SplitRules, read_rules

_SHOWN = 4
# So that what stays hidden is still as good as a whole key.
_LONG_ENOUGH = 16


@dataclass(frozen=True)
class AccountPage:
    """An account. ``endings`` are the last characters of those keys of which any are shown.

    ``lacks`` is what its owner can mend, ``notices`` what only the operator can.

    ``opens``: whether the keys can be read at all. ``notified_at`` is when the newest verified notification came;
    ``compared_until``: up to then its books were compared with the gateway's; ``comparing``: that is
    being done at this moment.
    """

    view: AccountView
    account: MerchantAccount
    lacks: Sequence[Lack]
    notices: Sequence[OperatorNotice]
    endings: Mapping[str, str]
    opens: bool
    old_secret_until: datetime | None
    notified_at: datetime | None
    compared_until: datetime | None
    comparing: bool
    groups: Mapping[str, Sequence[tuple[Option, object]]]
    rules: SplitRules | None
    rules_tried: bool
    rules_text: str
    example: Example
    sellers: Sequence[str]


async def read_account_page(
    services: Services, account: MerchantAccount, tried: SplitRules | None = None
) -> AccountPage:
    """Return what is shown of an account; ``tried`` are split rules to be shown instead of those that are kept."""
    shown = await view(services, account)
    endings = _endings(services, account)
    until = account.previous_api_secret_until
    rules = tried or _rules(account)
    async with services.database.transaction() as session:
        compared_until = await covered_until(session, account.id)
        comparing = await is_being_compared(session, account.id)
    example = worked_example(rules or SplitRules(), account.currencies[0] if account.currencies else "UAH")
    return AccountPage(
        view=shown,
        account=account,
        lacks=lacks_of_owner(shown),
        notices=operator_notices(shown, opens=endings is not None),
        endings=endings or {},
        opens=endings is not None,
        old_secret_until=until if until is not None and services.now() < until else None,
        notified_at=await services.inbox.newest(account.id),
        compared_until=compared_until,
        comparing=comparing,
        groups={
            title: [(OPTIONS[name], OPTIONS[name].of(account)) for name in names] for title, names in GROUPS.items()
        },
        rules=rules,
        rules_tried=tried is not None,
        rules_text=_written(tried.model_dump(mode="json") if tried else account.split_rules),
        example=example,
        sellers=sorted({who for each in example.steps for who in each.shares}),
    )


def keys_open(services: Services, account: MerchantAccount) -> bool:
    """Return whether the keys of an account can be read."""
    return _endings(services, account) is not None


def _endings(services: Services, account: MerchantAccount) -> dict[str, str] | None:
    """Return by what people recognise the keys; None when they cannot be opened.

    Nothing of the API secret: whoever has one notification can try secrets out against its signature, as many as they
    like. The other keys can only be tried out at the gateway.
    """
    try:
        keys = services.accounts.keys(account)
    except VaultError:
        return None
    known = {"api_key": keys.api_key, "endpoints_key": keys.endpoints_key}
    return {name: key[-_SHOWN:] for name, key in known.items() if len(key) >= _LONG_ENOUGH}


def _rules(account: MerchantAccount) -> SplitRules | None:
    """Return the rules that are kept; None when they are not right any more."""
    try:
        return read_rules(account.split_rules)
    except RulesError:
        return None


def _written(kept: Mapping[str, object] | None) -> str:
    return "" if kept is None else json.dumps(kept, indent=2, ensure_ascii=False)
