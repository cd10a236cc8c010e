"""Where links at Saleor's transactions lead: staff say where their Dashboard is, from within it (decision 0028).

The page's script tells the origin of the Dashboard that has handed it the token, in a header. Nobody can check that but
the person: so it is proposed to them and never kept by itself. All that ever comes of what they say is a link that
shows where it leads; no key, token or payment is sent there, and nobody may frame our pages because of it.
"""

from dataclasses import dataclass

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.deep_link import KnownDashboard, NamedBy, dashboard_of
from app.dashboard.form import fields_of
from app.dashboard.set_up.setup_page import Flash, SetUpRenderer
from app.dashboard.set_up.steps import ACCOUNT
from app.dashboard.staff import AnyStaff, Staff, refused
from app.gateway.hosts import on_private_network
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.services import Services
from app.saleor.dashboard_address import origin_of, read_dashboard_address

log = structlog.get_logger(__name__)

ORIGIN_HEADER = "dashboard-origin"
"""In which the pages' script says of which origin the Dashboard is that has handed it the token."""

PAGE = "/set-up/dashboard"
_USUAL_PATH = "/dashboard/"
_KEPT = LazyMessage("The address is kept. Links at transactions show it from now on.")
_FORGOTTEN = LazyMessage("The address is forgotten. Links at transactions say to open the Dashboard.")
_OPERATORS = gettext_noop("The address of this Dashboard is not for you to change: whoever runs the app has set it.")
_NO_ADDRESS = gettext_noop("Write the address as it stands in the browser, up to /extensions: https://…/dashboard/")
_ELSEWHERE = gettext_noop("This is not the Dashboard that you are in: its address begins with another name.")


@dataclass(frozen=True, slots=True)
class LinkView:
    """What is shown. ``seen`` is the origin of the Dashboard that somebody is in, "" when it is none to link to.

    ``elsewhere``: that is another one than links lead to. ``proposed`` is what to keep, for the person to look at.
    """

    known: KnownDashboard | None
    seen: str
    elsewhere: bool
    proposed: str

    @property
    def is_staffs(self) -> bool:
        """Whether it is for the store's staff to say."""
        return self.known is None or self.known.named_by is NamedBy.STAFF


class DashboardLinkParts:
    """The part about the Dashboard's address."""

    def __init__(self, services: Services, renderer: SetUpRenderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may set the app up."""
        router.add_api_route(PAGE, self._look, methods=["GET"])
        router.add_api_route(PAGE, self._save, methods=["POST"])

    async def _look(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        return await self._shown(request, staff)

    async def _shown(self, request: Request, staff: Staff, flash: Flash | None = None) -> HTMLResponse:
        installation = await self._services.installations.get(staff.installation.id)
        seen = self._seen(request)
        known = dashboard_of(installation)
        elsewhere = bool(known and seen and origin_of(known.address) != seen)
        here = f"{seen}{_USUAL_PATH}" if seen else ""
        proposed = here if known is None or elsewhere else known.address
        view = LinkView(known, seen, elsewhere, proposed)
        return await self._renderer.part("dashboard.html", staff, step=ACCOUNT, flash=flash, at=PAGE, link=view)

    def _seen(self, request: Request) -> str:
        """Return the origin that the script names, if a link may lead there at all: https, or all on one machine."""
        said = request.headers.get(ORIGIN_HEADER, "")
        try:
            origin = origin_of(read_dashboard_address(said))
        except ValueError:
            return ""
        own = on_private_network(origin) and on_private_network(self._services.addresses.base_url)
        return origin if origin == said and (origin.startswith("https:") or own) else ""

    async def _save(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        known = dashboard_of(await self._services.installations.get(staff.installation.id))
        if known is not None and known.named_by is not NamedBy.STAFF:
            raise refused(409, "OPERATORS", staff.translation, _OPERATORS)
        typed = dict(await fields_of(request)).get("address", "").strip()
        address = None
        if typed:
            try:
                address = read_dashboard_address(typed)
            except ValueError as error:
                raise refused(
                    422, "INVALID_DATA", staff.translation, _NO_ADDRESS, fields={"address": _NO_ADDRESS}
                ) from error
            # Nobody can send a store's links elsewhere than to where they are themselves signed in.
            if origin_of(address) != self._seen(request):
                raise refused(422, "ELSEWHERE", staff.translation, _ELSEWHERE, fields={"address": _ELSEWHERE})
        await self._services.installations.set_staff_dashboard(staff.installation.id, address)
        log.info("dashboard address set by staff", base_url=address, staff=staff.id)
        return await self._shown(request, staff, Flash(_KEPT if address else _FORGOTTEN))
