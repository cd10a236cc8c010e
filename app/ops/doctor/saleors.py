"""Checks one Saleor: its availability and the app's token, its signing keys, its clock and its channels."""

from collections.abc import Sequence
from datetime import timedelta

from app.flows.accounts.channels import Missing, read_channels, successors
from app.i18n.messages import Joined, LazyMessage
from app.ops.doctor.clocks import clock_findings
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.findings import Finding, FixedBy, Subject, connection_remedy, error, fine, warning
from app.reports.alerts.turned_away import find_closed_channels
from app.services import Services
from app.store.installations import OpenInstallation
from integration_base.connection_failures import REASONS
from integration_base.server_clock import compare_clock
from saleor_app_sdk.addresses import host_of, origin_of
from saleor_app_sdk.errors import (
    KeysUnusableError,
    SaleorNotAuthorisedError,
    SaleorRefusedError,
    SaleorUnreachableError,
)
from saleor_app_sdk.jwks import fetch_key_set

_TIMEOUT = timedelta(seconds=8)

_ACTIVATE = LazyMessage(
    "Activate the app in the Dashboard, under Extensions. If it is not there, install it; if it is active, "
    "remove it and install it again: nothing is lost."
)
_INSTALL = LazyMessage("To continue, install the app there again: what was not reported to Saleor is reported then.")
_REACH = LazyMessage("Check whether it is running, and whether the app's machine may connect to it.")

_LET_THROUGH = LazyMessage(
    "Check what stands in front of Saleor: it must let the app's requests through, without a password. If Saleor has "
    "another address now, install the app there and move the store (`installations move`)."
)
_CORRECT_ADDRESS = LazyMessage(
    "The app follows no redirect. If Saleor has another address now, correct its PUBLIC_URL, install the app there and "
    "move the store (`installations move`); if not, let the app's requests through."
)
_SERVER_ERRORS = 500  # from this HTTP status on


async def check_saleor(deployment: Deployment, installation: OpenInstallation) -> Sequence[Finding]:
    """Check that a Saleor responds and accepts the app's token as this app's."""
    if not installation.verified:
        return [_without_token(installation)]
    try:
        identity = await deployment.saleor.who_am_i(installation.saleor_api_url, installation.token, timeout=_TIMEOUT)
    except SaleorNotAuthorisedError:
        what = LazyMessage("Saleor does not give the app access: it was removed there, or switched off.")
        return [error(Subject.SALEOR, what, _ACTIVATE)]
    except SaleorUnreachableError as exc:
        return [_unreachable(exc)]
    except SaleorRefusedError as exc:
        what = LazyMessage("Saleor does not recognize the app's token as that of an app.")
        return [error(Subject.SALEOR, what, _ACTIVATE, detail=str(exc))]
    if identity.identifier not in {None, deployment.app_id}:
        what = LazyMessage("Saleor knows the app by another id: its requests use that one.")
        remedy = LazyMessage(
            "Set APP_ID back to %(id)s, or remove the app and install it again.", id=str(identity.identifier)
        )
        return [error(Subject.SALEOR, what, remedy, by=FixedBy.OPERATOR)]
    return [fine(Subject.SALEOR, LazyMessage("Saleor answers, and accepts the app's token."))]


def _unreachable(exc: SaleorUnreachableError) -> Finding:
    if exc.location is not None:
        what = LazyMessage("Saleor's API address leads to another: %(address)s.", address=exc.location)
        return error(Subject.SALEOR, what, _CORRECT_ADDRESS, by=FixedBy.OPERATOR)
    if exc.status is not None and exc.status < _SERVER_ERRORS:
        what = LazyMessage(
            "Saleor's API does not answer, but something in its place: HTTP %(status)s.", status=str(exc.status)
        )
        return error(Subject.SALEOR, what, _LET_THROUGH, by=FixedBy.OPERATOR)
    if exc.connection is None:
        what = LazyMessage("Saleor does not answer.")
        return error(Subject.SALEOR, what, _REACH, detail=str(exc), by=FixedBy.OPERATOR)
    what = LazyMessage("Saleor does not answer: %(why)s.", why=LazyMessage(REASONS[exc.connection]))
    return error(Subject.SALEOR, what, connection_remedy(exc.connection), by=FixedBy.OPERATOR)


def _without_token(installation: OpenInstallation) -> Finding:
    if installation.is_shut_out:
        what = LazyMessage("The app was removed from this Saleor. Its payments are kept.")
        return error(Subject.SALEOR, what, _INSTALL)
    return error(Subject.SALEOR, LazyMessage("Saleor does not accept the app's token yet."), _ACTIVATE)


async def check_signing_keys(deployment: Deployment, installation: OpenInstallation) -> Sequence[Finding]:
    """Check that a Saleor's signing keys can be fetched."""
    try:
        await fetch_key_set(deployment.saleor_http, installation.saleor_api_url, timeout=_TIMEOUT)
    except KeysUnusableError as exc:
        what = LazyMessage("Saleor's signing keys cannot be fetched: a new key would not be recognized.")
        remedy = LazyMessage("Allow the app's machine to fetch /.well-known/jwks.json from Saleor's address.")
        if exc.connection is not None:
            remedy = connection_remedy(exc.connection)
        return [error(Subject.SIGNING_KEYS, what, remedy, detail=str(exc))]
    return [fine(Subject.SIGNING_KEYS, LazyMessage("Saleor's signing keys can be fetched and used."))]


async def check_clock(deployment: Deployment, installation: OpenInstallation) -> Sequence[Finding]:
    """Compare a Saleor's clock with ours."""
    address = f"{origin_of(installation.saleor_api_url)}/.well-known/jwks.json"
    within = _TIMEOUT.total_seconds()
    difference = await compare_clock(deployment.saleor_http, address, deployment.now, within=within)
    return clock_findings(difference, host_of(installation.saleor_api_url))


async def check_channels(
    deployment: Deployment, services: Services, installation: OpenInstallation
) -> Sequence[Finding]:
    """Check in which channels of a Saleor shoppers can pay; inactive channels are ignored."""
    found = await read_channels(services, deployment.saleor, installation)
    if found.unreachable:  # reported by the check of Saleor itself
        return []
    active = [channel for channel in found.channels if Missing.ACTIVE not in channel.missing]
    works = [channel.slug for channel in active if channel.works]
    renamed = [_renamed(gone, slugs) for gone, slugs in successors(found).items() if slugs]
    if renamed and not works:
        return renamed
    if not works:
        what = LazyMessage("Shoppers cannot pay in any channel.")
        remedy = LazyMessage("Assign a merchant account to a channel, under “Set up”, “Channels”.")
        return [error(Subject.CHANNELS, what, remedy)]
    without = [channel.slug for channel in active if channel.account is None]
    broken = [channel for channel in active if channel.account is not None and not channel.works]
    findings = [
        *renamed,
        *(
            warning(
                Subject.CHANNELS,
                LazyMessage(
                    "In %(channel)s shoppers cannot pay: %(why)s.", channel=channel.slug, why=_why(channel.missing)
                ),
                LazyMessage("Choose another account for it, or none, under “Set up”, “Channels”."),
            )
            for channel in broken
        ),
    ]
    if without:
        what = LazyMessage(
            "No merchant account is assigned to %(channels)s: shoppers there are not offered this payment method.",
            channels=Joined(tuple(without)),
        )
        remedy = LazyMessage("If they should be able to pay there, choose an account under “Set up”, “Channels”.")
        findings.append(warning(Subject.CHANNELS, what, remedy))
    if findings:
        return findings
    return [
        fine(Subject.CHANNELS, LazyMessage("Shoppers can pay in %(channels)s.", channels=Joined(tuple(sorted(works)))))
    ]


async def check_turned_away(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Check that there is no channel in which shoppers are turned away and none gets through."""
    async with services.database.transaction() as session:
        closed = await find_closed_channels(session, installation.id, services.now())
    remedy = LazyMessage("Correct what the reason names. If it is meant to be so, mark it as reviewed in the app.")
    return [
        error(
            Subject.CHANNELS,
            LazyMessage("Shoppers are turned away, and none gets through. %(why)s", why=channel.detail),
            remedy,
        )
        for channel in closed
    ]


def _renamed(gone: str, slugs: Sequence[str]) -> Finding:
    what = LazyMessage(
        "The channel %(gone)s no longer exists in Saleor, and these of its currency have no merchant account: "
        "%(channels)s. Shoppers there are turned away.",
        gone=gone,
        channels=Joined(tuple(slugs)),
    )
    return error(
        Subject.CHANNELS, what, LazyMessage("If it was renamed, choose its account under “Set up”, “Channels”.")
    )


def _why(missing: Sequence[Missing]) -> Joined:
    return Joined(tuple(LazyMessage(what.value) for what in missing))
