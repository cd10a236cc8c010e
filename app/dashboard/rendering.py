"""Pages and parts from their templates, in the reader's language."""

from datetime import datetime
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from app.dashboard.translation import Translation, translation

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, language: Translation, **values: object) -> str:
    """Return a template with these values. Whatever comes from outside is escaped."""
    return _environment(language.language).get_template(template).render(language=language.language, **values)


@cache
def _environment(name: str) -> jinja2.Environment:
    language = translation(name)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def say(message: str, **values: object) -> Markup:
        """Translate. Messages are ours and may hold tags; ``values`` are escaped."""
        return Markup(language.gettext(message)) % values  # noqa: S704 - messages are written here, never taken in

    environment.globals["_"] = say
    environment.filters["money"] = language.money
    environment.filters["moment"] = _moment
    environment.filters["said"] = language.html
    return environment


def _moment(at: datetime) -> Markup:
    """Return a moment for the page's script, which writes it in the reader's own time."""
    return Markup('<time datetime="{}">{} UTC</time>').format(f"{at:%Y-%m-%dT%H:%M:%SZ}", f"{at:%Y-%m-%d %H:%M}")
