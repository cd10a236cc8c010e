"""The app's pages: those inside the Dashboard, and `/support` and `/privacy`, which its manifest names.

They are the same for everybody and show nothing of any store, so nobody has to prove who they are. What a page in the
Dashboard shows comes from `parts`.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from app.dashboard.renderer import TEMPLATES, THEMES
from app.i18n.translation import ENGLISH, translation, translation_for
from app.security_headers import PageKind, routes_of

WayIn = Callable[[str, str], Awaitable[str | None]]
"""From a Saleor's GraphQL address and a page's path to the same page in that store's Dashboard; None: not known."""


def create_dashboard_router(
    *,
    app_name: str,
    app_version: str,
    base: str = "",
    way_in: WayIn | None = None,
) -> APIRouter:
    """The pages without anybody's data.

    `base` is the path below which browsers reach the app, without a slash at its end. Whoever opens a page
    beside the Dashboard is led there if `way_in` knows where that is.
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
    @router.get("/set-up/try")
    @router.get("/set-up/try/{order_id}")
    @router.get("/set-up/accounts/{account_id}")
    async def page(request: Request, theme: str | None = None) -> Response:
        # In a tab of its own, not in the Dashboard's frame.
        if way_in is not None and request.headers.get("sec-fetch-dest") == "document":
            there = await way_in(request.query_params.get("saleorApiUrl", ""), request.scope["path"])
            if there is not None:
                return RedirectResponse(there, 303)
        language = translation_for(request.headers.get("accept-language", ""))
        html = TEMPLATES.render("shell.html", language, base=base, theme=theme if theme in THEMES else None, **about)
        return HTMLResponse(html)

    @router.get("/support")
    async def support() -> HTMLResponse:
        return HTMLResponse(TEMPLATES.render("support.html", translation(ENGLISH), title="Support", **about))

    @router.get("/privacy")
    async def privacy() -> HTMLResponse:
        return HTMLResponse(TEMPLATES.render("privacy.html", translation(ENGLISH), title="Privacy", **about))

    return router
