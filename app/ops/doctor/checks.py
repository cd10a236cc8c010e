"""The list of all checks, and the function that runs them concurrently, each with its own timeout.

A check that fails is itself a finding, so that the user never gets a stack trace instead.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import structlog

from app.i18n.messages import LazyMessage
from app.ops.doctor.accounts import check_account, check_any_account, check_gateway_clocks
from app.ops.doctor.addresses import check_address, check_frame_address
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.drift import check_drift
from app.ops.doctor.findings import Finding, FixedBy, Subject, error, fine, warning
from app.ops.doctor.saleors import check_channels, check_clock, check_saleor, check_signing_keys, check_turned_away
from app.ops.doctor.storage import check_database, check_disk, check_key_file
from app.ops.doctor.workers import check_lag, check_worker
from app.services import Services
from app.store.errors import DatabaseError
from app.store.installations import OpenInstallation
from app.store.vault import VaultError
from saleor_app_sdk.migration import ManifestFor

CHECK_TIMEOUT = 45.0
"""Timeout of a check in seconds: an account's calls the gateway several times, each for at most ten seconds."""
_MAX_CONCURRENT = 16

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """A check to run. ``about``: see ``Finding``."""

    subject: Subject
    run: Callable[[], Awaitable[Sequence[Finding]]]
    about: str | None = None


def checks_of_storage(deployment: Deployment) -> list[Check]:
    """Return the checks that need no open resources, and must pass before any can be opened."""
    return [
        Check(Subject.KEY_FILE, partial(check_key_file, deployment)),
        Check(Subject.DATABASE, partial(check_database, deployment)),
        Check(Subject.DATABASE, partial(check_disk, deployment)),
    ]


def checks_of_service(deployment: Deployment, services: Services | None, saleors: Sequence[str]) -> list[Check]:
    """Return the checks of resources that all stores share; ``services`` None when the database is unavailable.

    ``saleors`` are the API URLs of the Saleors that must be able to reach the app.
    """
    database = services.database if services is not None else None
    checks = [
        Check(Subject.ADDRESS, partial(check_address, deployment, database, saleors)),
        Check(Subject.FRAME_ADDRESS, partial(check_frame_address, deployment, database, saleors)),
    ]
    if services is not None:
        checks.append(Check(Subject.WORKER, partial(check_worker, services)))
    return checks


async def checks_of_store(
    deployment: Deployment, services: Services, installation: OpenInstallation, manifest_for: ManifestFor
) -> list[Check]:
    """Return the checks of one store; ``manifest_for``: this release's manifest for it. Raises DatabaseError."""
    accounts = [account for account in await services.accounts.all(installation.id) if account.enabled]
    return [
        Check(Subject.SALEOR, partial(check_saleor, deployment, installation)),
        Check(Subject.SIGNING_KEYS, partial(check_signing_keys, deployment, installation)),
        Check(Subject.CLOCK, partial(check_clock, deployment, installation)),
        Check(Subject.WEBHOOKS, partial(check_drift, deployment, installation, manifest_for)),
        Check(Subject.CHANNELS, partial(check_channels, deployment, services, installation)),
        Check(Subject.CHANNELS, partial(check_turned_away, services, installation)),
        Check(Subject.ACCOUNT, partial(check_any_account, services, installation)),
        *(Check(Subject.ACCOUNT, partial(check_account, services, account.id), account.name) for account in accounts),
        Check(Subject.CLOCK, partial(check_gateway_clocks, services, installation)),
        Check(Subject.EVENTS, partial(check_lag, services, installation)),
    ]


async def find_installations(services: Services, base_url: str) -> tuple[list[OpenInstallation], list[Finding]]:
    """Return the Saleors that have installed the app, and findings about them."""
    try:
        found = await services.installations.all()
    except VaultError:
        what = LazyMessage("No key in the secret key file decrypts the tokens that Saleor gave the app.")
        remedy = LazyMessage(
            "Put the missing line back into the secret key file, or have every store remove the app and install "
            "it again."
        )
        return [], [error(Subject.INSTALLATIONS, what, remedy)]
    except DatabaseError:
        return [], [error(Subject.INSTALLATIONS, LazyMessage("The database did not answer in time."))]
    if not found:
        what = LazyMessage("No store has installed the app yet.")
        remedy = LazyMessage("Install it in the Dashboard, from %(manifest)s.", manifest=f"{base_url}/api/manifest")
        return [], [warning(Subject.INSTALLATIONS, what, remedy)]
    what = LazyMessage("Stores with the app installed: %(count)s.", count=len(found))
    return found, [fine(Subject.INSTALLATIONS, what)]


async def run_checks(
    checks: Sequence[Check], *, within: float = CHECK_TIMEOUT, done: Callable[[], None] = lambda: None
) -> list[Finding]:
    """Run checks concurrently, each for at most ``within`` seconds; return their findings, in the order of the list.

    ``done`` is called after each check.
    """
    slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def run(check: Check) -> Sequence[Finding]:
        async with slots:
            try:
                return await _run(check, within)
            finally:
                done()

    return list(chain.from_iterable(await asyncio.gather(*map(run, checks))))


async def _run(check: Check, within: float) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(within):
            return await check.run()
    except TimeoutError:
        what = LazyMessage("Unknown: the check took longer than %(seconds)s seconds.", seconds=round(within))
        return [error(check.subject, what, LazyMessage("Try again in a minute."), about=check.about)]
    except DatabaseError:
        what = LazyMessage("Unknown: the database did not answer in time.")
        return [error(check.subject, what, LazyMessage("Try again in a minute."), about=check.about)]
    except Exception as exc:
        log.exception("check.failed", what=check.subject.value)
        what = LazyMessage("Unknown: the check itself failed.")
        remedy = LazyMessage("Report this, with what the log says.")
        return [error(check.subject, what, remedy, about=check.about, detail=type(exc).__name__, by=FixedBy.OPERATOR)]
