"""Findings of checks: the state of one subject, as messages for people, and the remedy."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from app.i18n.messages import LazyMessage, gettext_noop
from app.rules.connection_remedies import remedy_for
from integration_base.connection_failures import ConnectionFailure


class Level(StrEnum):
    """``ERROR``: something does not work. ``WARNING``: it works, and something is missing or will go wrong."""

    FINE = "fine"
    WARNING = "warning"
    ERROR = "error"


class FixedBy(StrEnum):
    """Who fixes a problem. ``UPDATE``: the app itself, on request, by ``saleor_app_sdk.migration``."""

    STORE = "store"
    OPERATOR = "operator"
    UPDATE = "update"


class Subject(StrEnum):
    """The subject of a check; the value is its name in JSON, and stable."""

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
"""The title of each subject, in English."""


_OPERATOR_SUBJECTS = frozenset(
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
"""Subjects whose problems only the operator can fix."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of a subject. ``remedy``: what to do, unless ``what`` states it already, and ``by`` whom.

    ``about`` is the name of an account or host, if there are several. ``detail`` is for the operator only: it may name
    files and hosts, never a secret.
    """

    subject: Subject
    level: Level
    what: LazyMessage
    remedy: LazyMessage | None = None
    about: str | None = None
    detail: str | None = None
    by: FixedBy = FixedBy.STORE


def fine(subject: Subject, what: LazyMessage, *, about: str | None = None) -> Finding:
    """Build a finding that something is in order."""
    return Finding(subject, Level.FINE, what, about=about)


def warning(
    subject: Subject,
    what: LazyMessage,
    remedy: LazyMessage | None = None,
    *,
    about: str | None = None,
    detail: str | None = None,
    by: FixedBy | None = None,
) -> Finding:
    """Build a finding that something works, but something is missing or will go wrong."""
    return Finding(subject, Level.WARNING, what, remedy, about, detail, by or _default_fixer(subject))


def error(
    subject: Subject,
    what: LazyMessage,
    remedy: LazyMessage | None = None,
    *,
    about: str | None = None,
    detail: str | None = None,
    by: FixedBy | None = None,
) -> Finding:
    """Build a finding that something does not work."""
    return Finding(subject, Level.ERROR, what, remedy, about, detail, by or _default_fixer(subject))


def connection_remedy(failure: ConnectionFailure) -> LazyMessage:
    """Return what to do about a failed connection, as a sentence; its first letter is capitalized on display."""
    return LazyMessage("%(clause)s.", clause=LazyMessage(remedy_for(failure, os.environ)))


def _default_fixer(subject: Subject) -> FixedBy:
    return FixedBy.OPERATOR if subject in _OPERATOR_SUBJECTS else FixedBy.STORE
