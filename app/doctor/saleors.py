"""One Saleor: does it answer and take the app's token, are its keys and its clock usable, is every channel served?"""

from collections.abc import Sequence
from datetime import timedelta

from app.db.installations import OpenInstallation
from app.doctor.clocks import clock_findings
from app.doctor.deployment import Deployment
from app.doctor.findings import Finding, Mender, Subject, error, fine, warning
from app.i18n.messages import Joined, LazyMessage
from app.payments.accounts.channels import Missing, read_channels
from app.payments.services import Services
from app.saleor.addresses import host_of, origin_of
from app.saleor.errors import KeysUnusableError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from app.saleor.keys import fetch_key_set
from app.server_clock import compare_clock

_WITHIN = timedelta(seconds=8)

_ACTIVATE = LazyMessage("Activate the app in the Dashboard, under Extensions, or install it again: nothing gets lost.")
_INSTALL = LazyMessage("To go on, install the app there again: what Saleor was not told is told then.")
_REACH = LazyMessage("See whether it runs, and whether the app's machine may connect to it.")


async def check_saleor(deployment: Deployment, installation: OpenInstallation) -> Sequence[Finding]:
    """Ask a Saleor whose token it is that it has given the app."""
    if not installation.verified:
        return [_without_token(installation)]
    try:
        identity = await deployment.saleor.who_am_i(installation.saleor_api_url, installation.token, within=_WITHIN)
    except SaleorNotAuthorisedError:
        what = LazyMessage("Saleor does not let the app in: it was removed there, or switched off.")
        return [error(Subject.SALEOR, what, _ACTIVATE)]
    except SaleorUnreachableError as exc:
        return [
            error(Subject.SALEOR, LazyMessage("Saleor does not answer."), _REACH, detail=str(exc), by=Mender.OPERATOR)
        ]
    except SaleorRefusedError as exc:
        what = LazyMessage("Saleor does not take the app's token for an app's.")
        return [error(Subject.SALEOR, what, _ACTIVATE, detail=str(exc))]
    if identity.identifier not in {None, deployment.app_id}:
        what = LazyMessage("Saleor knows the app by another id: its requests name that one.")
        remedy = LazyMessage("Set APP_ID back to %(id)s, or install the app again.", id=str(identity.identifier))
        return [error(Subject.SALEOR, what, remedy, by=Mender.OPERATOR)]
    return [fine(Subject.SALEOR, LazyMessage("Saleor answers, and takes the app's token."))]


def _without_token(installation: OpenInstallation) -> Finding:
    if installation.shut_out:
        what = LazyMessage("The app was removed from this Saleor. Its payments are kept.")
        return error(Subject.SALEOR, what, _INSTALL)
    return error(Subject.SALEOR, LazyMessage("Saleor does not take the app's token yet."), _ACTIVATE)


async def check_signing_keys(deployment: Deployment, installation: OpenInstallation) -> Sequence[Finding]:
    """Fetch the keys with which a Saleor signs."""
    try:
        await fetch_key_set(deployment.saleors, installation.saleor_api_url, within=_WITHIN)
    except KeysUnusableError as exc:
        what = LazyMessage("The keys with which Saleor signs cannot be had: a new one would not be known.")
        remedy = LazyMessage("Let the app's machine fetch /.well-known/jwks.json from Saleor's address.")
        return [error(Subject.SIGNING_KEYS, what, remedy, detail=str(exc))]
    return [fine(Subject.SIGNING_KEYS, LazyMessage("The keys with which Saleor signs can be fetched and used."))]


async def check_clock(deployment: Deployment, installation: OpenInstallation) -> Sequence[Finding]:
    """Compare a Saleor's clock with ours."""
    address = f"{origin_of(installation.saleor_api_url)}/.well-known/jwks.json"
    within = _WITHIN.total_seconds()
    difference = await compare_clock(deployment.saleors, address, deployment.now, within=within)
    return clock_findings(difference, host_of(installation.saleor_api_url))


async def check_channels(
    deployment: Deployment, services: Services, installation: OpenInstallation
) -> Sequence[Finding]:
    """Look in which channels of a Saleor shoppers can pay. One that is not active there needs nothing."""
    found = await read_channels(services, deployment.saleor, installation)
    if found.unreachable:  # why, is said of Saleor itself
        return []
    active = [each for each in found.channels if Missing.ACTIVE not in each.missing]
    works = [each.slug for each in active if each.works]
    if not works:
        what = LazyMessage("Shoppers can pay in no channel.")
        remedy = LazyMessage("Let a merchant account take a channel's money, under “Set up”, “Channels”.")
        return [error(Subject.CHANNELS, what, remedy)]
    without = [each.slug for each in active if each.account is None]
    broken = [each for each in active if each.account is not None and not each.works]
    findings = [
        warning(
            Subject.CHANNELS,
            LazyMessage("In %(channel)s shoppers cannot pay: %(why)s.", channel=each.slug, why=_why(each.missing)),
            LazyMessage("Choose another account for it, or none, under “Set up”, “Channels”."),
        )
        for each in broken
    ]
    if without:
        what = LazyMessage(
            "No merchant account takes the money of %(channels)s: shoppers are not offered this way to pay there.",
            channels=Joined(tuple(without)),
        )
        remedy = LazyMessage("If they are to pay there, choose an account under “Set up”, “Channels”.")
        findings.append(warning(Subject.CHANNELS, what, remedy))
    if findings:
        return findings
    return [
        fine(Subject.CHANNELS, LazyMessage("Shoppers can pay in %(channels)s.", channels=Joined(tuple(sorted(works)))))
    ]


def _why(missing: Sequence[Missing]) -> Joined:
    return Joined(tuple(LazyMessage(each.value) for each in missing))
