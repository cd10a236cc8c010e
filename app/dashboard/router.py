"""The app's pages: `/` in the Dashboard, and `/support` and `/privacy`, which its manifest names.

They are the same for everybody and show nothing of any store, so nobody has to prove who they are.
"""

from pathlib import Path
from typing import Annotated

import jinja2
from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from app.dashboard.first_steps import FIRST_STEPS, Step, addressed_to
from app.dashboard.framing import ANY_DASHBOARD, frame_ancestors_directive

_THEMES = {"light", "dark"}


def create_dashboard_router(
    *,
    app_name: str,
    app_version: str,
    documentation: str | None = None,
    frame_ancestors: tuple[str, ...] = ANY_DASHBOARD,
    steps: tuple[Step, ...] = FIRST_STEPS,
) -> APIRouter:
    """The Dashboard's pages.

    `documentation` is the absolute address of the docs; their pages for store owners, storefront developers and
    operators are linked when it is given. `frame_ancestors` are the origins of Dashboards (see
    `frame_ancestors_directive`, which raises `ValueError` for what is no origin).
    """
    router = APIRouter(include_in_schema=False)
    template = _template("app_page.html")
    headers = {
        "Content-Security-Policy": (
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; "
            f"form-action 'none'; {frame_ancestors_directive(frame_ancestors)}"
        ),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }

    @router.get("/")
    async def app_page(
        theme: str | None = None, saleor_api_url: Annotated[str | None, Query(alias="saleorApiUrl")] = None
    ) -> HTMLResponse:
        html = template.render(
            app_name=app_name,
            app_version=app_version,
            documentation=documentation,
            steps=addressed_to(saleor_api_url, steps),
            theme=theme if theme in _THEMES else None,
        )
        return HTMLResponse(html, headers=headers)

    @router.get("/support")
    async def support() -> HTMLResponse:
        html = _template("support.html").render(title="Support", app_name=app_name, app_version=app_version)
        return HTMLResponse(html, headers=headers)

    @router.get("/privacy")
    async def privacy() -> HTMLResponse:
        html = _template("privacy.html").render(title="Privacy", app_name=app_name, app_version=app_version)
        return HTMLResponse(html, headers=headers)

    return router


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
