"""Renders pages and parts of pages from templates, in the reader's language."""

from datetime import datetime
from pathlib import Path

import jinja2
from markupsafe import Markup

from app.i18n.translation import Translation
from app.web.static import version


class Templates:
    """The templates in a folder. Their messages are ours and may contain tags; all values are escaped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environments: dict[str, jinja2.Environment] = {}

    def render(self, template: str, translation: Translation, **values: object) -> str:
        """Render a template in the language of ``translation``, with these values."""
        language = translation.language
        if language not in self._environments:
            self._environments[language] = self._environment(translation)
        return self._environments[language].get_template(template).render(language=language, **values)

    def _environment(self, translation: Translation) -> jinja2.Environment:
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self._folder),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
        )
        # The extension adds this method to the environment.
        environment.install_gettext_translations(translation.catalogue, newstyle=True)  # type: ignore[attr-defined]
        environment.globals["files"] = version()
        environment.filters["money"] = translation.money
        environment.filters["amount"] = translation.amount
        environment.filters["editable"] = translation.editable
        environment.filters["moment"] = _format_moment
        environment.filters["clock"] = _format_clock
        environment.filters["ago"] = translation.ago
        environment.filters["day"] = translation.day
        environment.filters["duration"] = translation.duration
        environment.filters["said"] = translation.html
        return environment


def _format_moment(at: datetime) -> Markup:
    """Format a time for the page's script, which converts it to the reader's time zone."""
    return Markup('<time datetime="{}">{} UTC</time>').format(f"{at:%Y-%m-%dT%H:%M:%SZ}", f"{at:%Y-%m-%d %H:%M}")


def _format_clock(at: datetime) -> Markup:
    """Format a time of day without its date, for use beside a relative time ("3 days ago")."""
    return Markup('<time class="clock" datetime="{}">{} UTC</time>').format(f"{at:%Y-%m-%dT%H:%M:%SZ}", f"{at:%H:%M}")
