"""Checks the merchant accounts of a store: what their keys may do, what they lack, and the gateway's clock.

The account check is that of ``accounts check``, which moves no money and changes nothing at the gateway.
"""

from collections.abc import Sequence

from app.flows.accounts.channels import AccountView, load_view, load_views
from app.flows.accounts.check import Limitation, check_merchant_account, limitation_facts
from app.flows.accounts.dialect_findings import DialectFinding
from app.flows.accounts.gateway_access import CONSEQUENCES, Area, AreaFinding
from app.i18n.messages import Joined, LazyMessage
from app.ops.doctor.clocks import clock_findings
from app.ops.doctor.findings import Finding, FixedBy, Subject, error, fine, warning
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.vault import VaultError

_TIMEOUT = 8.0


async def check_any_account(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Check that a store has an enabled merchant account."""
    if any(account.enabled for account in await services.accounts.all(installation.id)):
        return []  # each has its own check
    what = LazyMessage("No merchant account is switched on: nobody can pay.")
    return [error(Subject.ACCOUNT, what, LazyMessage("Add one, or switch one on, under “Set up”."))]


async def check_account(services: Services, account_id: str) -> Sequence[Finding]:
    """Test an account in every area without side effects; return no findings if it has been removed."""
    account = await services.accounts.find(account_id)
    if account is None:
        return []
    shown = await load_view(services, account)
    try:
        found = await check_merchant_account(services, shown)
    except VaultError:
        what = LazyMessage("No key in the secret key file decrypts the keys of this account.")
        remedy = LazyMessage("Put the missing line back into the secret key file, or replace the account's keys.")
        return [error(Subject.ACCOUNT, what, remedy, about=account.name, by=FixedBy.OPERATOR)]
    if found.failure is not None:
        return [
            error(Subject.ACCOUNT, _sentence(found.failure.message), about=account.name),
            *_limitation_findings(found.limitations, shown),
        ]
    works = [LazyMessage(place.value) for place in (Area.PAYMENTS, *(area.area for area in found.areas if area.works))]
    return [
        fine(
            Subject.ACCOUNT,
            LazyMessage("The gateway accepts its keys: %(areas)s.", areas=Joined(tuple(works))),
            about=account.name,
        ),
        *(_area_finding(area, account.name) for area in found.areas if not area.works),
        *(_dialect_finding(finding, account.name) for finding in found.dialect),
        *_limitation_findings(found.limitations, shown),
    ]


async def check_gateway_clocks(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Compare the clock of each gateway that a store uses with ours."""
    found: list[Finding] = []
    seen: set[str] = set()
    for view in await load_views(services, installation_id=installation.id):
        host = view.account.base_url.partition("://")[2].partition("/")[0]
        if view.account.enabled and host not in seen:
            seen.add(host)
            difference = await services.gateways.compare_clock(view.account, services.now, within=_TIMEOUT)
            found += clock_findings(difference, host)
    return found


def _area_finding(found: AreaFinding, account: str) -> Finding:
    what = LazyMessage(
        "%(area)s: %(access)s. %(lost)s",
        area=LazyMessage(found.area.value),
        access=LazyMessage(found.access.value),
        lost=LazyMessage(CONSEQUENCES[found.area]),
    )
    return warning(Subject.ACCOUNT, what, None if found.why is None else _sentence(found.why), about=account)


def _dialect_finding(found: DialectFinding, account: str) -> Finding:
    remedy = LazyMessage("Test the account's keys on its page under “Set up”: the page offers to change the option.")
    return warning(Subject.ACCOUNT, _sentence(found.why), remedy, about=account)


def _limitation_findings(limitations: Sequence[Limitation], shown: AccountView) -> list[Finding]:
    facts = limitation_facts(shown)
    return [
        warning(Subject.ACCOUNT, _sentence(LazyMessage(limitation.value, **facts)), about=shown.account.name)
        for limitation in limitations
    ]


def _sentence(words: LazyMessage) -> LazyMessage:
    """Return a clause as a sentence; its first letter is capitalized on display."""
    return LazyMessage("%(clause)s.", clause=words)
