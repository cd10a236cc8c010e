"""Settings, all from the environment (prefix ``APP_``), each with a default that works on a single machine.

An invalid setting stops the start with one line that names it and states what to do (``SettingsError``).
"""

import os
import random
import re
import shlex
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingsError
from app.i18n.validation import find_field_errors
from app.rules.origins import origin_of
from app.rules.schedule import Schedule
from app.store.database import async_url
from app.store.private_files import create_private_folder
from app.store.retention import INACTIVE_PERIOD, Retention
from app.store.vault import Vault, VaultError, create_key_file, read_keys
from app.web.framing import frame_ancestors_directive
from gateway_client.models.values import absolute_url
from saleor_app_sdk.addresses import AllowList

PREFIX = "APP_"
_LISTS = ("allowed_saleor_urls", "dashboard_origins")
_HOME = "must not begin with ~, which only a shell replaces: write the whole path"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MANIFEST = "/api/manifest"
_SERVICE_LINK = re.compile(r"APP_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP|SCTP))(_\w+)?")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
_EVERY_RIGHT = os.R_OK | os.W_OK | os.X_OK
_LONGEST_TIME = 36_500 * 86_400  # seconds: what the calendar holds, counted from today


def _unquote(value: str) -> str:
    """Return the text without white space and one pair of quotes around it."""
    stripped = value.strip()
    quoted = re.fullmatch(r"""(["'])(.*)\1""", stripped, re.DOTALL)
    return stripped if quoted is None or quoted[1] in quoted[2] else quoted[2].strip()


FORMER_NAMES = {
    "drain": "shutdown_delay_seconds",
    "webhook_max_age": "webhook_max_age_seconds",
    "gateway_budget": "webhook_timeout_seconds",
    "answer_window": "answer_window_seconds",
    "settling_time": "unknown_timeout_seconds",
    "first_settle": "unknown_first_look_up_seconds",
    "first_poll": "pending_first_look_up_seconds",
    "overdue": "unknown_alert_seconds",
    "keep_personal_data": "keep_personal_data_days",
    "keep_notifications": "keep_notifications_days",
    "worker_lease": "worker_lease_seconds",
}
"""Settings by the names of release 0.2, which are still read in the one after it.

What is given so counts until it is removed: ``compose.yaml`` gives a setting by its new name, with a default.
"""


class Settings(BaseSettings):
    """The settings from the environment."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True)

    base_url: str = "http://127.0.0.1:8100"
    iframe_base_url: str | None = None
    id: str = Field(default="gateway.payments.app", min_length=1, max_length=256, pattern=r"^[A-Za-z0-9._-]+$")
    name: str | None = None
    support_url: str | None = None
    privacy_url: str | None = None
    homepage_url: str | None = None
    data_dir: Path = Path("data")
    database_url: str | None = None
    secret_key_file: Path | None = None
    allowed_saleor_urls: Annotated[tuple[str, ...], NoDecode] = ()
    dashboard_origins: Annotated[tuple[str, ...], NoDecode] = ()
    host: str = "127.0.0.1"
    port: int = Field(default=8100, ge=1, le=65535)
    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    metrics_host: str = "127.0.0.1"
    max_connections: int = Field(default=500, ge=10)
    shutdown_delay_seconds: float = Field(default=0, ge=0, le=60)
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    worker: bool = True
    customer_deletions: bool = False
    client_address_header: str | None = Field(default=None, min_length=1, max_length=64, pattern=r"^[A-Za-z0-9-]+$")
    webhook_max_age_seconds: float = Field(default=3600, gt=0, le=_LONGEST_TIME)
    webhook_timeout_seconds: float = Field(default=12, gt=0, le=13)
    answer_window_seconds: float = Field(default=25, ge=0, le=_LONGEST_TIME)
    unknown_timeout_seconds: float = Field(default=900, gt=0, le=_LONGEST_TIME)
    unknown_first_look_up_seconds: float = Field(default=3, gt=0, le=_LONGEST_TIME)
    pending_first_look_up_seconds: float = Field(default=60, gt=0, le=_LONGEST_TIME)
    worker_lease_seconds: float = Field(default=60, gt=0, le=_LONGEST_TIME)
    unknown_alert_seconds: float = Field(default=86400, gt=0, le=_LONGEST_TIME)
    keep_personal_data_days: int = Field(default=540, ge=0, le=36500)
    keep_notifications_days: int = Field(default=180, ge=0, le=36500)

    @model_validator(mode="before")
    @classmethod
    def _strip(cls, values: Mapping[str, object]) -> Mapping[str, object]:
        """Remove what stands around every value: white space, and a pair of quotes.

        A mounted secret often ends in a line feed, and ``docker --env-file`` keeps the quotes that a shell and Compose
        remove. What is nothing but white space is not set, like an empty value; so is a port for which Kubernetes tells
        the address of a Service (``_is_service_link``).
        """
        stripped = {name: _unquote(value) if isinstance(value, str) else value for name, value in values.items()}
        former = {FORMER_NAMES[name]: value for name, value in stripped.items() if name in FORMER_NAMES and value != ""}
        return {
            name: value
            for name, value in stripped.items()
            if value != "" and not (isinstance(value, str) and _is_service_link(PREFIX + name.upper(), value))
        } | former

    @field_validator("*", mode="before")
    @classmethod
    def _check_characters(cls, value: object, info: ValidationInfo) -> object:
        """Refuse line feeds and the like inside a value; between the entries of a list they are white space."""
        if isinstance(value, str) and info.field_name not in _LISTS and _CONTROL.search(value):
            raise ValueError("must be one line, without control characters")
        return value

    @field_validator("host", "metrics_host")
    @classmethod
    def _remove_brackets(cls, value: str) -> str:
        """Return an address of IPv6 without the brackets that it has in a URL."""
        return value.removeprefix("[").removesuffix("]")

    @field_validator("log_format", "log_level", mode="before")
    @classmethod
    def _to_lower_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("base_url", "iframe_base_url", "support_url", "privacy_url", "homepage_url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        """Accept what the gateway's client accepts too: it refuses every payment with another address of ours."""
        if value is None:
            return None
        try:
            parts = urlsplit(absolute_url(value))
        except ValueError:
            parts = urlsplit("")
        if not parts.hostname or "?" in value or "#" in value or not value.isprintable():
            raise ValueError("must be an absolute http(s) address, for example https://payments.example.com")
        if parts.username is not None:
            raise ValueError("must have no user and no password: shoppers and staff are led to it")
        return value.rstrip("/")

    @field_validator("base_url", "iframe_base_url")
    @classmethod
    def _check_base(cls, value: str | None) -> str | None:
        """Refuse the address that is pasted into the Dashboard: every address of ours would lie below it.

        Saleor accepts no link whose host has other letters than ASCII's: it is written as browsers send it.
        """
        if value is not None and value.endswith(_MANIFEST):
            raise ValueError(f"must be the app's own address, without {_MANIFEST} at its end")
        if value is None or value.isascii() or (origin := origin_of(value)) is None:
            return value
        return origin + urlsplit(value).path

    @field_validator("data_dir", "secret_key_file")
    @classmethod
    def _check_path(cls, value: Path | None) -> Path | None:
        if str(value).startswith("~"):
            raise ValueError(_HOME)
        return value

    @field_validator("data_dir")
    @classmethod
    def _check_data_dir(cls, value: Path) -> Path:
        """Refuse what would end the address of the database in the folder, which would then lie beside it."""
        if "?" in str(value):
            raise ValueError("must be a path without a question mark")
        return value

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, value: str | None) -> str | None:
        if value is not None and (async_url(value).database or "").startswith("~"):
            raise ValueError(_HOME)
        return value

    @field_validator("keep_personal_data_days", "keep_notifications_days")
    @classmethod
    def _check_retention(cls, value: int) -> int:
        if 0 < value < INACTIVE_PERIOD.days:
            raise ValueError(f"must be at least {INACTIVE_PERIOD.days} days, or 0 to keep the data for ever")
        return value

    @field_validator(*_LISTS, mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part for part in map(_unquote, value.split(",")) if part)
        return value

    @field_validator("allowed_saleor_urls")
    @classmethod
    def _check_saleor_urls(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowList(value)
        return value

    @field_validator("dashboard_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Return the origins as browsers write them. What is copied from one's address ends in a slash."""
        origins = tuple(origin.lower().removesuffix("/") for origin in value)
        if origins:
            frame_ancestors_directive(origins)
        return origins

    @property
    def base_path(self) -> str:
        """The path below which browsers reach the app, without a trailing slash; "" when it has its own host."""
        return urlsplit(self.iframe_base_url or self.base_url).path

    @property
    def database(self) -> str:
        """The URL of the database: an SQLite file in the data folder unless another is set."""
        return self.database_url or f"sqlite:///{self.data_dir / 'payments.sqlite'}"

    @property
    def key_file(self) -> Path:
        """The file of the keys that seal secrets at rest."""
        return self.secret_key_file or self.data_dir / "secret.key"

    @property
    def webhook_oldest(self) -> timedelta:
        """The maximum age of an event that Saleor sends; within this time a replay is harmless (laws of money, 4)."""
        return timedelta(seconds=self.webhook_max_age_seconds)

    @property
    def schedule(self) -> Schedule:
        """The worker's timing: its pauses, budgets, deadlines and leases."""
        return Schedule(
            settling_time=timedelta(seconds=self.unknown_timeout_seconds),
            first_settle=timedelta(seconds=self.unknown_first_look_up_seconds),
            first_poll=timedelta(seconds=self.pending_first_look_up_seconds),
            budget=timedelta(seconds=self.webhook_timeout_seconds),
            answer_window=timedelta(seconds=self.answer_window_seconds),
            lease=timedelta(seconds=self.worker_lease_seconds),
            overdue=timedelta(seconds=self.unknown_alert_seconds),
            jitter=random.random,
        )

    @property
    def retention(self) -> Retention:
        """The retention periods of data that are not stored indefinitely."""
        days = (self.keep_personal_data_days, self.keep_notifications_days)
        return Retention(*[timedelta(days=day) if day else None for day in days])

    def make_data_folder(self) -> None:
        """Create the data folder, accessible to this user only, unless it exists. Raises SettingsError."""
        try:
            create_private_folder(self.data_dir)
        except OSError as exc:
            reason = exc.strerror or type(exc).__name__
            raise SettingsError(f"{PREFIX}DATA_DIR: the folder {self.data_dir} cannot be created: {reason}") from exc

    def open_vault(self) -> Vault:
        """Open the vault; the first start creates the data folder and a key file in it. Raises SettingsError.

        A key file that is configured must exist: creating a new one in place of the old one would lose every secret.
        """
        try:
            if self.secret_key_file is None:
                self.make_data_folder()
                create_key_file(self.key_file)
            return Vault(read_keys(self.key_file), reload=lambda: read_keys(self.key_file))
        except FileNotFoundError as exc:
            raise SettingsError(f"{PREFIX}SECRET_KEY_FILE: the file {self.key_file} does not exist") from exc
        except PermissionError as exc:
            raise SettingsError(self._missing_right()) from exc
        except OSError as exc:
            reason = exc.strerror or type(exc).__name__
            raise SettingsError(
                f"{PREFIX}SECRET_KEY_FILE: {self.key_file} cannot be read or created: {reason}"
            ) from exc
        except VaultError as exc:
            raise SettingsError(f"{PREFIX}SECRET_KEY_FILE: {exc}") from exc

    def _missing_right(self) -> str:
        """Return why this user cannot use the key file, and what to do: it may also be the wrong user."""
        user, folder = os.geteuid(), self.data_dir.absolute()
        by_effective_id = os.access in os.supports_effective_ids
        if not self.secret_key_file and not os.access(folder, _EVERY_RIGHT, effective_ids=by_effective_id):
            return (
                f"{PREFIX}DATA_DIR: user {user} may not use the folder {folder}: if the app runs as another user, be "
                f"that one; else, as root, run `chown {user} {shlex.quote(str(folder))}`"
            )
        file = shlex.quote(str(self.key_file.absolute()))
        return (
            f"{PREFIX}SECRET_KEY_FILE: user {user} may not read {self.key_file}; if the app runs as another user, be "
            f"that one; else: as root, run `chown {user} {file}` and `chmod 400 {file}`"
        )


def read_settings() -> Settings:
    """Return the settings of this process. Raises SettingsError, which names every invalid setting."""
    wrong, given = _unknown_settings(), _given_by_former_names()
    former = {FORMER_NAMES[name]: name for name in given}
    try:
        settings = Settings(**given)
    except ValidationError as exc:
        for error in find_field_errors(exc):
            wrong.append(f"{_variable(former.get(error.field, error.field))}: {error.message}")
        raise SettingsError("; ".join(wrong)) from exc
    if wrong:
        raise SettingsError("; ".join(wrong))
    return settings


def former_variables() -> dict[str, str]:
    """Return the variables that are given by a former name, each with the name that replaces it."""
    return {_variable(name): _variable(FORMER_NAMES[name]) for name in _given_by_former_names()}


def _given_by_former_names() -> dict[str, Any]:
    """Return what the environment has under former names."""
    given = {name.upper(): value for name, value in os.environ.items() if value.strip()}
    return {name: given[_variable(name)] for name in FORMER_NAMES if _variable(name) in given}


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _unknown_settings() -> list[str]:
    """Return an error text for each variable with our prefix that is not a setting, with the setting probably meant.

    Ignoring a mistyped database URL would mean starting with an empty database.
    """
    known = [name.upper() for name in Settings.model_fields]
    former = [name.upper() for name in FORMER_NAMES]
    found = sorted(
        name for name, value in os.environ.items()
        if name.upper().startswith(PREFIX)
        and name.upper().removeprefix(PREFIX) not in [*known, *former]
        and not _is_service_link(name.upper(), value)
    )  # fmt: skip
    meant = {name: get_close_matches(name.upper().removeprefix(PREFIX), known, 1) for name in found}
    return [
        f"{name}: there is no such setting" + (f": did you mean {PREFIX}{meant[name][0]}?" if meant[name] else "")
        for name in found
    ]


def _is_service_link(name: str, value: str) -> bool:
    """Return True for what Kubernetes puts into every container beside a Service whose name begins with ``app``."""
    return bool(_SERVICE_LINK.fullmatch(name) or (name.endswith("PORT") and _SERVICE_ADDRESS.match(value)))
