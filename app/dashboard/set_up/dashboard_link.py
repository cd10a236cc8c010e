"""The target of the links at Saleor's transactions: staff set their Dashboard's address from within it (decision 0028).

The page's script sends the origin of the Dashboard that has handed it the token, in a header. Only the person can
verify it: so it is proposed to them and never stored automatically. The only effect of their input is a link that shows
its target; no key, token or payment is sent there, and it allows no site to frame our pages.
"""

from dataclasses import dataclass

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.deep_link import KnownDashboard, NamedBy, dashboard_of
from app.dashboard.form import read_form_fields
from app.dashboard.set_up.setup_page import ACCOUNT, Flash, SetUpRenderer
from app.dashboard.staff import AnyStaff, Staff, http_error
from app.gateway.hosts import is_on_private_network
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.services import Services
from app.saleor.dashboard_address import origin_of, parse_dashboard_address

log = structlog.get_logger(__name__)

ORIGIN_HEADER = "dashboard-origin"
"""The header in which the pages' script states the origin of the Dashboard that has handed it the token."""

PAGE = "/set-up/dashboard"
_USUAL_PATH = "/dashboard/"
_SAVED = LazyMessage("The address was saved. Links on transactions show it from now on.")
_CLEARED = LazyMessage("The address was removed. Links on transactions now say to open the Dashboard.")
_SET_BY_OPERATOR = gettext_noop("You cannot change the address of this Dashboard: the app operator has set it.")
_NO_ADDRESS = gettext_noop("Enter the address as the browser shows it, up to /extensions: https://…/dashboard/")
_ELSEWHERE = gettext_noop("This is not the Dashboard that you are in: its address begins with a different name.")


@dataclass(frozen=True, slots=True)
class LinkView:
    """The view. ``seen`` is the origin of the Dashboard that the user is in, "" when it is none to link to.

    ``elsewhere``: links lead to another Dashboard. ``proposed`` is the address to store, for the user to verify.
    """

    known: KnownDashboard | None
    seen: str
    elsewhere: bool
    proposed: str

    @property
    def is_staffs(self) -> bool:
        """True when the store's staff may set the address."""
        return self.known is None or self.known.named_by is NamedBy.STAFF


class DashboardLinkParts:
    """The routes of the Dashboard's address."""

    def __init__(self, services: Services, renderer: SetUpRenderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        router.add_api_route(PAGE, self._page, methods=["GET"])
        router.add_api_route(PAGE, self._save, methods=["POST"])

    async def _page(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        return await self._render(request, staff)

    async def _render(self, request: Request, staff: Staff, flash: Flash | None = None) -> HTMLResponse:
        installation = await self._services.installations.get(staff.installation.id)
        seen = self._stated_origin(request)
        known = dashboard_of(installation)
        elsewhere = bool(known and seen and origin_of(known.address) != seen)
        here = f"{seen}{_USUAL_PATH}" if seen else ""
        proposed = here if known is None or elsewhere else known.address
        view = LinkView(known, seen, elsewhere, proposed)
        return await self._renderer.part("dashboard.html", staff, step=ACCOUNT, flash=flash, at=PAGE, link=view)

    def _stated_origin(self, request: Request) -> str:
        """Return the origin that the script states; "" if no link may lead there: it must be https, or all be local."""
        stated = request.headers.get(ORIGIN_HEADER, "")
        try:
            origin = origin_of(parse_dashboard_address(stated))
        except ValueError:
            return ""
        is_local = is_on_private_network(origin) and is_on_private_network(self._services.addresses.base_url)
        return origin if origin == stated and (origin.startswith("https:") or is_local) else ""

    async def _save(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        known = dashboard_of(await self._services.installations.get(staff.installation.id))
        if known is not None and known.named_by is not NamedBy.STAFF:
            raise http_error(409, "OPERATORS", staff.translation, _SET_BY_OPERATOR)
        typed = dict(await read_form_fields(request)).get("address", "").strip()
        address = None
        if typed:
            try:
                address = parse_dashboard_address(typed)
            except ValueError as error:
                raise http_error(
                    422, "INVALID_DATA", staff.translation, _NO_ADDRESS, fields={"address": _NO_ADDRESS}
                ) from error
            # Staff can only point a store's links to the Dashboard in which they are themselves signed in.
            if origin_of(address) != self._stated_origin(request):
                raise http_error(422, "ELSEWHERE", staff.translation, _ELSEWHERE, fields={"address": _ELSEWHERE})
        await self._services.installations.set_staff_dashboard(staff.installation.id, address)
        log.info("dashboard address set by staff", base_url=address, staff=staff.id)
        return await self._render(request, staff, Flash(_SAVED if address else _CLEARED))
