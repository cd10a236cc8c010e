"""What a check has found: how things stand with one subject, in words for people, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from app.i18n.messages import LazyMessage, gettext_noop


class Level(StrEnum):
    """``ERROR``: something does not work. ``WARNING``: it works, and something is missing or will go wrong."""

    FINE = "fine"
    WARNING = "warning"
    ERROR = "error"


class Mender(StrEnum):
    """Who mends something. ``UPDATE``: the app does when it is told to, by ``app.saleor.migration``."""

    STORE = "store"
    OPERATOR = "operator"
    UPDATE = "update"


class Subject(StrEnum):
    """What is looked at; the value is its name in JSON, and does not change."""

    KEY_FILE = "key-file"
    DATABASE = "database"
    MIGRATIONS = "migrations"
    ADDRESS = "address"
    FRAME_ADDRESS = "frame-address"
    WORKER = "worker"
    INSTALLATIONS = "installations"
    SALEOR = "saleor"
    SIGNING_KEYS = "signing-keys"
    CLOCK = "clock"
    PERMISSIONS = "permissions"
    WEBHOOKS = "webhooks"
    EXTENSIONS = "extensions"
    CHANNELS = "channels"
    ACCOUNT = "account"
    EVENTS = "events"
    NOTIFICATIONS = "notifications"
    LOOK_UPS = "look-ups"


TITLES: Mapping[Subject, str] = MappingProxyType(
    {
        Subject.KEY_FILE: gettext_noop("Secret key file"),
        Subject.DATABASE: gettext_noop("Database"),
        Subject.MIGRATIONS: gettext_noop("Migrations"),
        Subject.ADDRESS: gettext_noop("Address"),
        Subject.FRAME_ADDRESS: gettext_noop("Address for browsers"),
        Subject.WORKER: gettext_noop("Worker"),
        Subject.INSTALLATIONS: gettext_noop("Installations"),
        Subject.SALEOR: gettext_noop("Saleor"),
        Subject.SIGNING_KEYS: gettext_noop("Saleor’s signing keys"),
        Subject.CLOCK: gettext_noop("Clock"),
        Subject.PERMISSIONS: gettext_noop("Permissions"),
        Subject.WEBHOOKS: gettext_noop("Webhooks"),
        Subject.EXTENSIONS: gettext_noop("In the Dashboard"),
        Subject.CHANNELS: gettext_noop("Channels"),
        Subject.ACCOUNT: gettext_noop("Merchant account"),
        Subject.EVENTS: gettext_noop("Events for Saleor"),
        Subject.NOTIFICATIONS: gettext_noop("Notifications"),
        Subject.LOOK_UPS: gettext_noop("Look-ups"),
    }
)
"""What each subject is called, in English."""


_OPERATORS = frozenset(
    {
        Subject.KEY_FILE,
        Subject.DATABASE,
        Subject.MIGRATIONS,
        Subject.ADDRESS,
        Subject.FRAME_ADDRESS,
        Subject.WORKER,
        Subject.SIGNING_KEYS,
        Subject.CLOCK,
        Subject.EVENTS,
        Subject.NOTIFICATIONS,
        Subject.LOOK_UPS,
    }
)
"""What only whoever runs the app can mend, whatever is wrong with it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How something stands. ``remedy``: what to do, where the words do not say it themselves, and ``by`` whom.

    ``about`` says which of several it is, an account or a host, by its name. ``detail`` is for whoever runs the app
    alone: it may name files and hosts, never a secret.
    """

    subject: Subject
    level: Level
    what: LazyMessage
    remedy: LazyMessage | None = None
    about: str | None = None
    detail: str | None = None
    by: Mender = Mender.STORE


def fine(subject: Subject, what: LazyMessage, *, about: str | None = None) -> Finding:
    """Return that something is as it should be."""
    return Finding(subject, Level.FINE, what, about=about)


def warning(
    subject: Subject,
    what: LazyMessage,
    remedy: LazyMessage | None = None,
    *,
    about: str | None = None,
    detail: str | None = None,
    by: Mender | None = None,
) -> Finding:
    """Return that something works, and something is missing or will go wrong."""
    return Finding(subject, Level.WARNING, what, remedy, about, detail, by or _usually(subject))


def error(
    subject: Subject,
    what: LazyMessage,
    remedy: LazyMessage | None = None,
    *,
    about: str | None = None,
    detail: str | None = None,
    by: Mender | None = None,
) -> Finding:
    """Return that something does not work."""
    return Finding(subject, Level.ERROR, what, remedy, about, detail, by or _usually(subject))


def _usually(subject: Subject) -> Mender:
    return Mender.OPERATOR if subject in _OPERATORS else Mender.STORE
