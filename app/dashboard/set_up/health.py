"""The health check: what ``saleor-gateway doctor`` looks at, for this store alone; and webhooks brought up to date.

Nothing of another store is in it, and nothing that is for whoever runs the app alone: no file, no host, no setting's
value but the app's own public address. What only they can mend is said as such.
"""

import asyncio
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import Any

import structlog
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.dashboard.set_up.setup_page import Flash, SetUpRenderer
from app.dashboard.set_up.steps import ACCOUNT
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.errors import DatabaseError
from app.db.installations import OpenInstallation
from app.db.latest_cache import Latest, LatestCache
from app.doctor.addresses import check_address
from app.doctor.checks import checks_of_service, checks_of_store, examine
from app.doctor.deployment import Deployment
from app.doctor.findings import TITLES, Finding, Level, Mender
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.services import Services
from app.saleor.errors import SaleorError
from app.saleor.migration import ManifestFor, Migration, migrate
from app.saleor.versions import read_release, written

log = structlog.get_logger(__name__)

PAGE = "/set-up/health"
_WITHIN = 15.0
"""Seconds that a check may take here. The slowest is an account's, at a gateway that takes questions and is silent."""
_WAIT = 2.5
"""Seconds that the page waits for them: usually all is said by then. If not, it is shown as soon as it is."""

_ORDER = {Level.ERROR: 0, Level.WARNING: 1, Level.FINE: 2}
_BADGES = {
    Level.ERROR: ("bad", gettext_noop("Critical")),
    Level.WARNING: ("warn", gettext_noop("Warning")),
    Level.FINE: ("good", gettext_noop("Fine")),
}
_UP_TO_DATE = LazyMessage("The webhooks are brought up to this release.")
_NOTHING_TO_DO = LazyMessage("The webhooks are this release's already. Nothing was changed.")
_NOT_ALL = LazyMessage("Saleor did not let the app change everything.")
_NOT_ASKED = gettext_noop("Saleor did not answer. Check again in a minute, and see what was changed.")
_WRONG_ADDRESS = gettext_noop(
    "Nothing was changed: webhooks would lead to an address at which the app cannot be reached. Tell whoever runs it."
)


class HealthParts:
    """The part about what the app depends on. ``manifest_for``: what this release brings to a Saleor."""

    def __init__(
        self, services: Services, deployment: Deployment, manifest_for: ManifestFor, renderer: SetUpRenderer
    ) -> None:
        self._services = services
        self._deployment = deployment
        self._manifest_for = manifest_for
        self._renderer = renderer
        self._latest: LatestCache[tuple[int, int], list[Finding], DatabaseError] = LatestCache()
        self._changing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changes: Counter[int] = Counter()

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may set the app up."""
        router.add_api_route(PAGE, self._look, methods=["GET"])
        router.add_api_route(PAGE, self._look_again, methods=["POST"])
        router.add_api_route(f"{PAGE}/findings", self._follow, methods=["GET"])
        router.add_api_route(f"{PAGE}/webhooks", self._bring_up, methods=["POST"])

    async def _look(self, staff: AnyStaff) -> HTMLResponse:
        return await self._shown(staff)

    async def _look_again(self, staff: AnyStaff) -> HTMLResponse:
        return await self._shown(staff, again=True)

    async def _follow(self, staff: AnyStaff) -> HTMLResponse:
        latest = await self._examined(staff.installation)
        view = _view(latest, self._services.now())
        return self._renderer.renderer.part("set_up/health_findings.html", staff, here=None, again=False, **view)

    async def _bring_up(self, staff: AnyStaff) -> HTMLResponse:
        installation = staff.installation
        async with self._changing[installation.id]:  # a second click would make the same webhooks a second time
            if await self._is_nowhere(installation):
                raise refused(409, "WRONG_ADDRESS", staff.translation, _WRONG_ADDRESS)
            try:
                migration = await migrate(self._deployment.saleor, installation, self._manifest_for)
            except SaleorError as error:
                log.warning("webhooks not migrated", saleor=installation.saleor_api_url, error=str(error))
                raise refused(503, "SALEOR", staff.translation, _NOT_ASKED) from error
        self._changes[installation.id] += 1
        log.info("webhooks migrated by staff", saleor=installation.saleor_api_url, staff=staff.id)
        release = read_release(migration.version)
        if release is not None:
            await self._services.installations.heard_from(installation, written(release))
        return await self._shown(staff, migration=migration)

    async def _is_nowhere(self, installation: OpenInstallation) -> bool:
        found = await check_address(self._deployment, self._services.database, [installation.saleor_api_url])
        return any(each.level is Level.ERROR for each in found)

    async def _shown(self, staff: Staff, *, again: bool = False, migration: Migration | None = None) -> HTMLResponse:
        latest = await self._examined(staff.installation, anew=again)
        return await self._renderer.part(
            "health.html",
            staff,
            step=ACCOUNT,
            flash=None if migration is None else _flash(migration),
            at=PAGE,
            again=again,
            migration=migration,
            **_view(latest, self._services.now()),
        )

    async def _examined(
        self, installation: OpenInstallation, *, anew: bool = False
    ) -> Latest[list[Finding], DatabaseError]:
        """Return what was found last: a minute long, unless it is to be looked ``anew``, or something was changed.

        Of those who look at once one looks for all; so a store is not examined more often than somebody asks for it.
        Raises DatabaseError.
        """
        latest = await self._latest.get(
            (installation.id, self._changes[installation.id]),
            lambda: self._examine(installation),
            now=self._services.now,
            within=_WAIT,
            failing_with=DatabaseError,
            anew=anew,
        )
        if latest.error is not None:
            raise latest.error
        return latest

    async def _examine(self, installation: OpenInstallation) -> list[Finding]:
        checks = [
            *checks_of_service(self._deployment, self._services, [installation.saleor_api_url]),
            *await checks_of_store(self._deployment, self._services, installation, self._manifest_for),
        ]
        return await examine(checks, within=_WITHIN)


def _flash(migration: Migration) -> Flash:
    if migration.not_done:
        return Flash(_NOT_ALL, good=False)
    return Flash(_UP_TO_DATE if migration.done else _NOTHING_TO_DO)


def _view(latest: Latest[list[Finding], DatabaseError], now: datetime) -> dict[str, Any]:
    """Return what the findings' template shows: the worst first, each in its place otherwise."""
    found = () if latest.late or latest.value is None else sorted(latest.value, key=lambda each: _ORDER[each.level])
    return {
        "looking": latest.late,
        "findings": found,
        "errors": sum(each.level is Level.ERROR for each in found),
        "warnings": sum(each.level is Level.WARNING for each in found),
        "drifted": any(each.by is Mender.UPDATE for each in found),
        "as_of": latest.said_at,
        "age": timedelta() if latest.said_at is None else max(now - latest.said_at, timedelta()),
        "badges": _BADGES,
        "titles": TITLES,
    }
