"""Generates .env.example from Settings and docs/operators/settings.md: ``python -m tests.packaging.env_example``.

With ``compose.yaml`` a ``.env`` made of it is read twice: by compose, and by the app in each container.
"""

import re
import textwrap
from typing import Any

import yaml

from app.settings import PREFIX, Settings
from integration_base_tests.pages import OPERATORS, rows
from integration_base_tests.places import REPOSITORY

EXAMPLE = REPOSITORY / ".env.example"
COMPOSE = REPOSITORY / "compose.yaml"
REFERENCE = re.compile(r"\$\{(\w+)(?:(:[-?]|-)((?:[^${}]|\$\{[^{}]*\})*))?\}")

_HEAD = """\
# Settings of the containers in compose.yaml. Copy this file to `.env`, fill in the first two, and change what you need:
# what is commented out shows its default. More about each: docs/operators/settings.md. (`make env-example` makes this.)

# The password of PostgreSQL: letters and digits, because it becomes part of an address.
POSTGRES_PASSWORD=
"""
_COMPOSE = """\
# Of compose.yaml itself: the port of this machine on which the app is reached, and the host that Caddy answers to
# (with `--profile scale`: that of APP_BASE_URL).
#PUBLISHED_PORT=8100
#PROXY_DOMAIN=localhost

# Of libraries, which send traces and errors to where you say: docs/observability.md.
#OTEL_EXPORTER_OTLP_ENDPOINT=
#OTEL_SERVICE_NAME=
#SENTRY_DSN=
#SENTRY_ENVIRONMENT=
"""


def containers() -> dict[str, dict[str, str]]:
    """Return the environment that compose.yaml writes for each container of the app, before anything is inserted."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    return {name: service["environment"] for name, service in services.items() if "build" in service}


def fixed_settings() -> set[str]:
    """Return the variables that compose.yaml sets, whatever `.env` says."""
    return {name for name, value in containers()["app"].items() if not value.startswith(f"${{{name}")}


def render_example() -> str:
    """Return the whole file."""
    meanings = {name.strip("`"): meaning for name, _, meaning in rows((OPERATORS / "settings.md").read_text())}
    names = [PREFIX + name.upper() for name in Settings.model_fields]
    settings = [_setting(name, meanings[name]) for name in names if name not in fixed_settings()]
    fixed = _comment(f"compose.yaml sets {', '.join(sorted(fixed_settings()))}: they have no effect here.")
    return "\n".join([_HEAD, *settings, f"{fixed}\n", _COMPOSE])


def _setting(name: str, meaning: str) -> str:
    first_sentence = re.split(r"(?<=\.) (?=[A-Z])", meaning)[0]
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", first_sentence).replace("`", "")
    line = f"{name}=" if name == "APP_BASE_URL" else f"#{name}={_default(name)}"
    return f"{_comment(plain)}\n{line}\n"


def _comment(text: str) -> str:
    return textwrap.fill(text, 119, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _default(name: str) -> str:
    in_compose = REFERENCE.fullmatch(containers()["app"].get(name, ""))
    if in_compose and "$" not in in_compose[3]:
        return in_compose[3]
    default: Any = Settings.model_fields[name.removeprefix(PREFIX).lower()].default
    match default:
        case None | ():
            return ""
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case _:
            return str(default)


if __name__ == "__main__":
    EXAMPLE.write_text(render_example())
