"""The app's pages inside the Dashboard: each an empty frame.

They are the same for everybody and show nothing of any store, so nobody has to prove who they are. What a page shows
comes from `parts`.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.dashboard.deep_link import WayIn
from app.dashboard.renderer import TEMPLATES, THEMES
from app.i18n.translation import translation_for
from app.saleor.dashboard_address import origin_of
from app.security_headers import PageKind, routes_of

FindWayIn = Callable[[str, str], Awaitable[WayIn | None]]
"""From a Saleor's GraphQL address and a page's path to the same page in that store's Dashboard; None: not known."""


def create_dashboard_router(
    *,
    app_name: str,
    app_version: str,
    base: str = "",
    way_in: FindWayIn | None = None,
) -> APIRouter:
    """The pages without anybody's data.

    `base` is the path below which browsers reach the app, without a slash at its end. Whoever opens a page
    beside the Dashboard is led there if `way_in` knows where that is: at once, or by a link that says where it leads.
    """
    router = APIRouter(include_in_schema=False, route_class=routes_of(PageKind.DASHBOARD))
    about = {"app_name": app_name, "app_version": app_version}

    @router.get("/")
    @router.get("/payments")
    @router.get("/payments/{order_id}")
    @router.get("/money")
    @router.get("/attention")
    @router.get("/balances")
    @router.get("/payouts")
    @router.get("/payouts/new")
    @router.get("/register")
    @router.get("/set-up")
    @router.get("/set-up/channels")
    @router.get("/set-up/dashboard")
    @router.get("/set-up/health")
    @router.get("/set-up/try")
    @router.get("/set-up/try/{order_id}")
    @router.get("/set-up/accounts/{account_id}")
    async def page(request: Request, theme: str | None = None) -> Response:
        language = translation_for(request.headers.get("accept-language", ""))
        # In a tab of its own, not in the Dashboard's frame.
        if way_in is not None and request.headers.get("sec-fetch-dest") == "document":
            saleor = request.query_params.get("saleorApiUrl", "")
            there = await way_in(saleor, request.scope["path"])
            if there is not None and there.at_once:
                return RedirectResponse(there.address, 303)
            if there is not None:
                origin, store = origin_of(there.address), urlsplit(saleor).netloc
                html = TEMPLATES.render(
                    "way_in.html", language, base=base, there=there.address, origin=origin, store=store, **about
                )
                return HTMLResponse(html)
        html = TEMPLATES.render("shell.html", language, base=base, theme=theme if theme in THEMES else None, **about)
        return HTMLResponse(html)

    return router
