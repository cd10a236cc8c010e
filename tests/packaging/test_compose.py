"""compose.yaml and .env.example: whatever an operator sets arrives in every container of the app."""

import re
from collections.abc import Mapping
from io import StringIO

import pytest
import yaml
from dotenv import dotenv_values

from app.errors import SettingsError
from app.settings import PREFIX, Settings, read_settings
from app.store.retention import INACTIVE_PERIOD
from tests.packaging.env_example import COMPOSE, EXAMPLE, REFERENCE, containers, fixed_settings, render_example

NEEDED = {"POSTGRES_PASSWORD": "0a1b2c", "APP_BASE_URL": "https://payments.example.com"}
ANOTHER: dict[str, str] = {
    "base_url": "https://other.example.com",
    "iframe_base_url": "https://frame.example.com",
    "id": "another.app",
    "name": "Another",
    "support_url": "https://help.example.com",
    "privacy_url": "https://privacy.example.com",
    "homepage_url": "https://home.example.com",
    "data_dir": "elsewhere",
    "database_url": "postgresql://me@elsewhere.example.com/payments",
    "secret_key_file": "/etc/payments.key",
    "allowed_saleor_urls": "https://shop.example.com/graphql/",
    "dashboard_origins": "https://dashboard.example.com",
    "host": "127.0.0.3",
    "metrics_host": "127.0.0.2",
    "log_format": "console",
    "log_level": "debug",
    "worker": "false",
    "customer_deletions": "true",
    "client_address_header": "X-Forwarded-For",
}


def another_value(name: str) -> str:
    """A valid value of a setting that is not its default."""
    if name in ANOTHER:
        return ANOTHER[name]
    field = Settings.model_fields[name]
    if name.startswith("keep_"):
        return str(INACTIVE_PERIOD.days + 1)
    return "9" if field.annotation is float else "9109"


def insert(text: str, values: Mapping[str, str]) -> str:
    """What compose makes of a text, in which values may be named within defaults."""

    def value_of(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        assert values.get(name) or kind != ":?", f"{name}: {rest}"
        if kind == "-" and name in values:  # without the colon an empty value is one
            return values[name]
        return values.get(name) or insert(rest, values)

    return REFERENCE.sub(value_of, text)


def environment_in(container: str, env: Mapping[str, str]) -> dict[str, str]:
    """What a container is started with: `environment` wins over `env_file`."""
    service = yaml.safe_load(COMPOSE.read_text())["services"][container]
    assert service["env_file"] == ".env"
    return dict(env) | {name: insert(value, env) for name, value in service["environment"].items()}


def start(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> Settings:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return read_settings()


def test_the_containers_of_the_app() -> None:
    assert containers().keys() == {"app", "web-2", "worker", "migrate"}


@pytest.mark.parametrize("container", containers())
def test_every_setting_arrives(container: str, monkeypatch: pytest.MonkeyPatch) -> None:
    default = start(monkeypatch, environment_in(container, NEEDED)).model_dump()
    others = {PREFIX + name.upper(): another_value(name) for name in Settings.model_fields}
    arrived = start(monkeypatch, environment_in(container, NEEDED | others)).model_dump()
    same = {PREFIX + name.upper() for name in arrived if arrived[name] == default[name]}
    assert same == fixed_settings()


@pytest.mark.parametrize("container", containers())
def test_a_mistyped_setting_arrives_too_and_is_refused(container: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"^APP_KEEP_PERSONAL_DAT: .* did you mean APP_KEEP_PERSONAL_DATA_DAYS"):
        start(monkeypatch, environment_in(container, NEEDED | {"APP_KEEP_PERSONAL_DAT": "200"}))


@pytest.mark.parametrize("container", ["app", "web-2", "worker"])
def test_the_ports_that_the_health_check_asks_arrive(container: str) -> None:
    assert {"APP_PORT", "APP_METRICS_PORT"} <= environment_in(container, NEEDED).keys()


@pytest.mark.parametrize("container", ["app", "web-2", "worker"])
def test_the_monitoring_port_is_closed_by_setting_it_to_nothing(
    container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the reference of the settings says: a default that compose puts in place of nothing would open it."""
    assert start(monkeypatch, environment_in(container, NEEDED)).metrics_port == 9108
    assert start(monkeypatch, environment_in(container, NEEDED | {"APP_METRICS_PORT": ""})).metrics_port is None


def test_what_is_demanded_is_demanded_by_compose() -> None:
    for name in NEEDED:
        with pytest.raises(AssertionError, match=name):
            environment_in("app", NEEDED | {name: ""})


def test_the_example_is_generated_anew() -> None:
    assert EXAMPLE.read_text() == render_example(), "run `make env-example`"


def test_the_example_can_be_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line is one that the app accepts, and what is commented out is what counts without it."""
    written = {name: value or "" for name, value in dotenv_values(EXAMPLE).items()}
    commented = "\n".join(line[1:] for line in EXAMPLE.read_text().splitlines() if re.match(r"#[A-Z]", line))
    defaults = {name: value or "" for name, value in dotenv_values(stream=StringIO(commented)).items()}
    assert written == dict.fromkeys(NEEDED, "")
    without = environment_in("app", NEEDED)
    with_all = environment_in("app", defaults | NEEDED)
    as_without = start(monkeypatch, without)
    assert start(monkeypatch, with_all) == as_without


def test_the_example_names_all_that_compose_inserts_and_all_that_the_app_reads() -> None:
    named = set(re.findall(r"^#?([A-Z_0-9]+)=", EXAMPLE.read_text(), re.MULTILINE))
    assert {name for name, *_ in REFERENCE.findall(COMPOSE.read_text())} <= named
    assert {PREFIX + name.upper() for name in Settings.model_fields} == {
        name for name in named | fixed_settings() if name.startswith(PREFIX)
    }


def test_no_variable_of_compose_looks_like_a_setting() -> None:
    """It would arrive in the containers and be refused there."""
    settings = {PREFIX + name.upper() for name in Settings.model_fields}
    inserted = {name for name, *_ in REFERENCE.findall(COMPOSE.read_text())}
    assert {name for name in inserted if name.startswith(PREFIX)} <= settings
