"""Rendering of templates to responses. The pages load nothing from other sites; a policy tells the browser so."""

from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

STATIC = Path(__file__).parent / "static"
_TEMPLATES = Path(__file__).parent / "templates"
# No form-action here: browsers apply it to the redirect back to the shop as well.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'"
)


def template_environment(folder: Path = _TEMPLATES) -> Environment:
    """Return the template environment, in which all values are escaped."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page. `values` are the template's variables."""
    environment = request.app.state.templates
    assert isinstance(environment, Environment)  # noqa: S101 - create_sandbox put it there
    html = environment.get_template(template).render(values)
    headers = {
        "content-security-policy": _POLICY,
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    }
    return HTMLResponse(html, status, headers)
