"""The merchant accounts of a store: what their keys may do at the gateway, and what surrounds them.

It is the check of ``accounts check``, which moves no money and changes nothing at the gateway.
"""

from collections.abc import Sequence

from app.db.installations import OpenInstallation
from app.db.vault import VaultError
from app.doctor.clocks import clock_findings
from app.doctor.findings import Finding, Mender, Subject, error, fine, warning
from app.i18n.messages import Joined, LazyMessage
from app.payments.accounts.areas import LOST, Area, AreaFinding
from app.payments.accounts.channels import AccountView, view, views
from app.payments.accounts.check import Lack, check, facts_of
from app.payments.services import Services

_SECONDS = 8.0


async def check_any_account(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Look whether a store has a merchant account that is switched on."""
    if any(each.enabled for each in await services.accounts.all(installation.id)):
        return []  # each of them says for itself how it stands
    what = LazyMessage("There is no merchant account that is switched on: nobody can pay.")
    return [error(Subject.ACCOUNT, what, LazyMessage("Add one, or switch one on, under “Set up”."))]


async def check_account(services: Services, account_id: str) -> Sequence[Finding]:
    """Try an account out, harmlessly, in every area; one that was removed meanwhile needs nothing."""
    account = await services.accounts.find(account_id)
    if account is None:
        return []
    shown = await view(services, account)
    try:
        client = services.gateways.client(account)
    except VaultError:
        what = LazyMessage("No key in the secret key file opens the keys of this account.")
        remedy = LazyMessage("Put the missing line back into the secret key file, or replace the account's keys.")
        return [error(Subject.ACCOUNT, what, remedy, about=account.name, by=Mender.OPERATOR)]
    found = await check(client, shown)
    if found.wrong is not None:
        return [error(Subject.ACCOUNT, _sentence(found.wrong.words), about=account.name), *_lacks(found.lacks, shown)]
    works = [LazyMessage(each.value) for each in (Area.PAYMENTS, *(each.area for each in found.areas if each.works))]
    return [
        fine(
            Subject.ACCOUNT,
            LazyMessage("The gateway takes its keys: %(areas)s.", areas=Joined(tuple(works))),
            about=account.name,
        ),
        *(_area(each, account.name) for each in found.areas if not each.works),
        *_lacks(found.lacks, shown),
    ]


async def check_gateway_clocks(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Compare the clock of each gateway that a store uses with ours."""
    found: list[Finding] = []
    seen: set[str] = set()
    for each in await views(services, installation_id=installation.id):
        host = each.account.base_url.partition("://")[2].partition("/")[0]
        if each.account.enabled and host not in seen:
            seen.add(host)
            difference = await services.gateways.compare_clock(each.account, services.now, within=_SECONDS)
            found += clock_findings(difference, host)
    return found


def _area(found: AreaFinding, account: str) -> Finding:
    what = LazyMessage(
        "%(area)s: %(access)s. %(lost)s",
        area=LazyMessage(found.area.value),
        access=LazyMessage(found.access.value),
        lost=LazyMessage(LOST[found.area]),
    )
    return warning(Subject.ACCOUNT, what, None if found.why is None else _sentence(found.why), about=account)


def _lacks(lacks: Sequence[Lack], shown: AccountView) -> list[Finding]:
    facts = facts_of(shown)
    return [
        warning(Subject.ACCOUNT, _sentence(LazyMessage(each.value, **facts)), about=shown.account.name)
        for each in lacks
    ]


def _sentence(words: LazyMessage) -> LazyMessage:
    """Return a clause as a sentence: where it is shown, its first letter is written large."""
    return LazyMessage("%(clause)s.", clause=words)
