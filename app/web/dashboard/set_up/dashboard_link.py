"""The target of the links at Saleor's transactions: staff set their Dashboard's address from within it (decision 0028).

The page's script sends the origin of the Dashboard that has handed it the token, in a header. Only the person can
verify it, and a browser tells a frame nothing of the path: so an address is tried before it is kept. Their browser
opens this page at that address, in a new tab; only there, where it has evidently worked, can it be saved. The app
itself requests nothing from it. The only effect of their input is a link that shows its target; no key, token or
payment is sent there, and it allows no site to frame our pages.
"""

from dataclasses import dataclass
from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.i18n.messages import LazyMessage, gettext_noop
from app.services import Services
from app.web.dashboard.deep_link import KnownDashboard, NamedBy, dashboard_of
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.set_up.setup_page import ACCOUNT, Flash, SetUpRenderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from gateway_client.hosts import is_on_private_network
from saleor_app_sdk.dashboard_address import app_page_address, origin_of, parse_dashboard_address

log = structlog.get_logger(__name__)

ORIGIN_HEADER = "dashboard-origin"
"""The header in which the pages' script states the origin of the Dashboard that has handed it the token."""

PAGE = "/set-up/dashboard"
_TRY = f"{PAGE}/try"
_USUAL_PATH = "/dashboard/"
_SAVED = LazyMessage("The address was saved. Links on transactions show it from now on.")
_CLEARED = LazyMessage("The address was removed. Links on transactions now say to open the Dashboard.")
_SET_BY_OPERATOR = gettext_noop("You cannot change the address of this Dashboard: the app operator has set it.")
_NO_ADDRESS = gettext_noop("Enter the address as the browser shows it, up to /extensions: https://…/dashboard/")
_ELSEWHERE = gettext_noop("This is not the Dashboard that you are in: its address begins with a different name.")


@dataclass(frozen=True, slots=True)
class LinkView:
    """The view. ``seen`` is the origin of the Dashboard that the user is in, "" when it is none to link to.

    ``elsewhere``: links lead to another Dashboard. ``proposed`` is the address for the user to verify. ``trial`` is the
    link that tries it; ``works``: the user has come by that link.
    """

    known: KnownDashboard | None
    seen: str
    elsewhere: bool
    proposed: str
    trial: str | None = None
    works: bool = False

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
        router.add_api_route(_TRY, self._try, methods=["POST"])

    async def _page(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the page. The Dashboard passes the query of its own address on: that names an address being tried."""
        try:
            tried = parse_dashboard_address(request.query_params.get("address", ""))
        except ValueError:
            tried = ""
        works = bool(tried) and origin_of(tried) == self._stated_origin(request)
        return await self._render(request, staff, proposed=tried if works else None, works=works)

    async def _render(
        self,
        request: Request,
        staff: Staff,
        flash: Flash | None = None,
        *,
        proposed: str | None = None,
        trial: str | None = None,
        works: bool = False,
    ) -> HTMLResponse:
        installation = await self._services.installations.get(staff.installation.id)
        seen = self._stated_origin(request)
        known = dashboard_of(installation)
        elsewhere = bool(known and seen and origin_of(known.address) != seen)
        if proposed is None:
            here = f"{seen}{_USUAL_PATH}" if seen else ""
            proposed = here if known is None or elsewhere else known.address
        view = LinkView(known, seen, elsewhere, proposed, trial, works)
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

    async def _try(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        await self._refuse_if_set_by_operator(staff)
        address = self._read_address(request, staff, dict(await read_form_fields(request)).get("address", "").strip())
        page = app_page_address(address, staff.installation.app_id or "", PAGE)
        return await self._render(request, staff, proposed=address, trial=f"{page}?{urlencode({'address': address})}")

    async def _save(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        await self._refuse_if_set_by_operator(staff)
        typed = dict(await read_form_fields(request)).get("address", "").strip()
        address = self._read_address(request, staff, typed) if typed else None
        await self._services.installations.set_staff_dashboard(staff.installation.id, address)
        log.info("dashboard_address.changed", base_url=address, staff=staff.id)
        return await self._render(request, staff, Flash(_SAVED if address else _CLEARED))

    async def _refuse_if_set_by_operator(self, staff: Staff) -> None:
        known = dashboard_of(await self._services.installations.get(staff.installation.id))
        if known is not None and known.named_by is not NamedBy.STAFF:
            raise http_error(409, "OPERATORS", staff.translation, _SET_BY_OPERATOR)

    def _read_address(self, request: Request, staff: Staff, typed: str) -> str:
        """Return the address as entered. Staff can only name the Dashboard in which they are themselves signed in."""
        try:
            address = parse_dashboard_address(typed)
        except ValueError as error:
            raise http_error(
                422, "INVALID_DATA", staff.translation, _NO_ADDRESS, fields={"address": _NO_ADDRESS}
            ) from error
        if origin_of(address) != self._stated_origin(request):
            raise http_error(422, "ELSEWHERE", staff.translation, _ELSEWHERE, fields={"address": _ELSEWHERE})
        return address
