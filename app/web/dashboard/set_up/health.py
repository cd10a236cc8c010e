"""The health check: the checks of ``saleor-gateway doctor`` for this store alone; and the update of its webhooks.

It contains no data of another store, and nothing that is for the operator alone: no file, no host, no setting's value
but the app's own public address. Findings that only the operator can fix are marked as such.
"""

import asyncio
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Any

import structlog
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.i18n.messages import LazyMessage, gettext_noop
from app.ops.doctor.addresses import check_address
from app.ops.doctor.checks import checks_of_service, checks_of_store, run_checks
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.drift_messages import difference_message
from app.ops.doctor.findings import TITLES, Finding, FixedBy, Level
from app.services import Services
from app.store.errors import DatabaseError
from app.store.installations import OpenInstallation
from app.store.latest_cache import Latest, LatestCache
from app.web.dashboard.set_up.setup_page import ACCOUNT, Flash, SetUpRenderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.migration import ManifestFor, Migration, migrate
from saleor_app_sdk.versions import format_release, parse_release

log = structlog.get_logger(__name__)

PAGE = "/set-up/health"
_TIMEOUT = 15.0
"""Timeout of a check, in seconds. The slowest is an account's, at a gateway that accepts requests and is silent."""
_WAIT = 2.5
"""Seconds that the page waits for the checks: usually all are done by then. If not, it shows them once they are."""

_ORDER = {Level.ERROR: 0, Level.WARNING: 1, Level.FINE: 2}
_BADGES = {
    Level.ERROR: ("bad", gettext_noop("Critical")),
    Level.WARNING: ("warn", gettext_noop("Warning")),
    Level.FINE: ("good", gettext_noop("Fine")),
}
_UP_TO_DATE = LazyMessage("The webhooks were updated to this release.")
_NOTHING_TO_DO = LazyMessage("The webhooks already match this release. Nothing was changed.")
_NOT_ALL = LazyMessage("Saleor did not let the app change everything.")
_SALEOR_UNREACHABLE = gettext_noop("Saleor did not respond. Check again in a minute to see what was changed.")
_WRONG_ADDRESS = gettext_noop(
    "Nothing was changed: the webhooks would use an address at which the app cannot be reached. Contact the app "
    "operator."
)


class HealthParts:
    """The routes of the health check. ``manifest_for`` builds the manifest that this release brings to a Saleor."""

    def __init__(
        self, services: Services, deployment: Deployment, manifest_for: ManifestFor, renderer: SetUpRenderer
    ) -> None:
        self._services = services
        self._deployment = deployment
        self._manifest_for = manifest_for
        self._renderer = renderer
        self._latest: LatestCache[tuple[int, int], list[Finding], DatabaseError] = LatestCache()
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changes: Counter[int] = Counter()

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        router.add_api_route(PAGE, self._page, methods=["GET"])
        router.add_api_route(PAGE, self._check_again, methods=["POST"])
        router.add_api_route(f"{PAGE}/findings", self._findings_part, methods=["GET"])
        router.add_api_route(f"{PAGE}/webhooks", self._update_webhooks, methods=["POST"])

    async def _page(self, staff: AnyStaff) -> HTMLResponse:
        return await self._render(staff)

    async def _check_again(self, staff: AnyStaff) -> HTMLResponse:
        return await self._render(staff, again=True)

    async def _findings_part(self, staff: AnyStaff) -> HTMLResponse:
        latest = await self._latest_findings(staff.installation)
        view = _view(latest, self._services.now())
        return await self._renderer.renderer.part("set_up/health_findings.html", staff, here=None, again=False, **view)

    async def _update_webhooks(self, staff: AnyStaff) -> HTMLResponse:
        installation = staff.installation
        async with self._locks[installation.id]:  # a second click would create the same webhooks twice
            if await self._is_unreachable(installation):
                raise http_error(409, "WRONG_ADDRESS", staff.translation, _WRONG_ADDRESS)
            try:
                migration = await migrate(self._deployment.saleor, installation, self._manifest_for)
            except SaleorError as error:
                log.warning("webhooks.not_migrated", saleor=installation.saleor_api_url, error=str(error))
                raise http_error(503, "SALEOR", staff.translation, _SALEOR_UNREACHABLE) from error
        self._changes[installation.id] += 1
        log.info("webhooks.migrated", saleor=installation.saleor_api_url, staff=staff.id)
        release = parse_release(migration.version)
        if release is not None:
            await self._services.installations.record_contact(installation, format_release(release))
        return await self._render(staff, migration=migration)

    async def _is_unreachable(self, installation: OpenInstallation) -> bool:
        found = await check_address(self._deployment, self._services.database, [installation.saleor_api_url])
        return any(finding.level is Level.ERROR for finding in found)

    async def _render(self, staff: Staff, *, again: bool = False, migration: Migration | None = None) -> HTMLResponse:
        latest = await self._latest_findings(staff.installation, refresh=again)
        return await self._renderer.part(
            "health.html",
            staff,
            step=ACCOUNT,
            flash=None if migration is None else _flash(migration),
            at=PAGE,
            again=again,
            migration=migration,
            difference_message=difference_message,
            **_view(latest, self._services.now()),
        )

    async def _latest_findings(
        self, installation: OpenInstallation, *, refresh: bool = False
    ) -> Latest[list[Finding], DatabaseError]:
        """Return the latest findings, cached for a minute unless ``anew`` is set or something was changed.

        Concurrent requests share one examination; so a store is not examined more often than it is requested.
        Raises DatabaseError.
        """
        latest = await self._latest.get(
            (installation.id, self._changes[installation.id]),
            lambda: self._run_checks(installation),
            now=self._services.now,
            timeout=_WAIT,
            expected_error=DatabaseError,
            force=refresh,
        )
        if latest.error is not None:
            raise latest.error
        return latest

    async def _run_checks(self, installation: OpenInstallation) -> list[Finding]:
        checks = [
            *checks_of_service(self._deployment, self._services, [installation.saleor_api_url]),
            *await checks_of_store(self._deployment, self._services, installation, self._manifest_for),
        ]
        return await run_checks(checks, within=_TIMEOUT)


def _flash(migration: Migration) -> Flash:
    if migration.not_done:
        return Flash(_NOT_ALL, good=False)
    return Flash(_UP_TO_DATE if migration.done else _NOTHING_TO_DO)


def _view(latest: Latest[list[Finding], DatabaseError], now: datetime) -> dict[str, Any]:
    """Return the values of the findings' template: the findings by severity, the worst first, otherwise in order."""
    found = (
        () if latest.late or latest.value is None else sorted(latest.value, key=lambda finding: _ORDER[finding.level])
    )
    return {
        "looking": latest.late,
        "findings": found,
        "errors": sum(finding.level is Level.ERROR for finding in found),
        "warnings": sum(finding.level is Level.WARNING for finding in found),
        "drifted": any(finding.by is FixedBy.UPDATE for finding in found),
        "as_of": latest.received_at,
        "age": timedelta() if latest.received_at is None else max(now - latest.received_at, timedelta()),
        "badges": _BADGES,
        "titles": TITLES,
    }
