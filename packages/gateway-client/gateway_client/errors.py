"""The errors of calls to the gateway, mapped once at the boundary.

::

    GatewayError
    |- InvalidRequestError          the request breaks rules of the interface (``broken``); nothing was sent
    |- NotSentError                 no connection: nothing was sent, safe to retry
    |- RefusedError                 the gateway read the request and did not do it (4xx)
    |  |- DuplicateOrderError       this order id was used before: perhaps by our own, lost attempt. Look it up
    |  |- NotFoundError             the gateway has no such record, or no such endpoint; stated in its own shape
    |  |- BadCredentialsError       the account's keys are wrong
    |  `- RateLimitedError          too many requests; ``pause`` is how long to wait, if the gateway states it
    |- OutcomeUnknownError          the request left, no readable response came: it may have been done. Look it up
    |  `- NotTheGatewayError        a 4xx not in the gateway's own shape, or a redirect to no page: a wrong address
    |                               (what such a response says is in ``said``)
    |- ReportNotReadyError          the register is still being generated
    `- NotificationError
       |- ForgedNotificationError   a webhook that none of the account's secrets signed
       `- UnreadableNotificationError   a webhook that is not a valid notification, whether or not it is signed
          `- SignedButUnreadableError   signed, so it comes from the gateway, but not readable (``notification``)

A *declined* operation is not an error: the call returns its record with status ``failure`` (see ``declined``).
For reads (look-ups, balances, registers) ``OutcomeUnknownError`` merely means "unavailable": they are safe to retry.

No error contains a secret, a card number or the body of a request.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from integration_base.connection_failures import ConnectionFailure

_MAX_MESSAGE = 512
# Gateways quote what they refuse. Anything like a card number, or named a security code, is redacted.
_CARD_NUMBER = re.compile(r"(?<!\d)(?:\d[ -]?){11,18}\d(?!\d)")
_SECURITY_CODE = re.compile(r"((?:cvv|cvc)2?\W{1,3})\d{3,4}(?!\d)", re.IGNORECASE)


def sanitize(text: str) -> str:
    """Return ``text`` of the gateway fit for a message: at most 512 printable characters, one line, no card data."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    redacted = _SECURITY_CODE.sub(r"\1(not shown)", _CARD_NUMBER.sub("(number)", " ".join(printable.split())))
    return redacted[:_MAX_MESSAGE]


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that the gateway refused, and the gateway's text about it."""

    field: str
    text: str


class GatewayError(Exception):
    """The base class. ``method`` and ``path`` are those of the HTTP call, ``code`` is the gateway's own.

    ``said`` is the text of a response that is not believed, for people: redacted, at most 300 characters.
    ``connection`` is what was wrong with the connection, if anything was.
    """

    said = ""
    connection: "ConnectionFailure | None" = None

    def __init__(
        self,
        message: str,
        *,
        method: str | None = None,
        path: str | None = None,
        order_id: str | None = None,
        code: str | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.method = method
        self.path = path
        self.order_id = order_id
        self.code = code
        self.http_status = http_status

    def __str__(self) -> str:
        call = " ".join(part for part in (self.method, self.path) if part)
        details = [
            f"{name} {value}"
            for name, value in (("HTTP", self.http_status), ("code", self.code), ("order", self.order_id))
            if value is not None
        ]
        text = f"{call}: {self.message}" if call else self.message
        if self.said:
            text = f'{text}: "{self.said}"'
        return f"{text} [{', '.join(details)}]" if details else text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is copied and pickled: not by its constructor, which takes more than the message."""
        return type(self).__new__, (type(self), *self.args), vars(self)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A field of a request (``split.0.amount`` if nested), the rule of the interface that it breaks, and the given
    value: safe to show, without card data and names.
    """

    field: str
    limit: str
    given: str

    def __str__(self) -> str:
        return f"{self.field}: {self.limit}; given: {self.given}"


class InvalidRequestError(GatewayError):
    """Values break rules of the interface. All of them are in ``broken``, in the order of the fields.

    ``field``, ``limit`` and ``given`` are those of the first.
    """

    def __init__(
        self, field: str, limit: str, given: str, *, more: tuple[BrokenRule, ...] = (), order_id: str | None = None
    ) -> None:
        self.broken = (BrokenRule(field, limit, given), *more)
        super().__init__(" | ".join(map(str, self.broken)), order_id=order_id)
        self.field = field
        self.limit = limit
        self.given = given

    @classmethod
    def of(cls, broken: Sequence[BrokenRule], *, order_id: str | None = None) -> Self:
        """Return the error with all of these rules, of which there is at least one."""
        first, *more = broken
        return cls(first.field, first.limit, first.given, more=tuple(more), order_id=order_id)


class NotSentError(GatewayError):
    """The request did not leave this machine. Nothing happened; the same request may be retried."""


class RefusedError(GatewayError):
    """The gateway responded that it did not do the request. ``violations`` names the fields, if the gateway does.

    ``status_code`` is from the table of status codes, if the gateway names one; ``code`` may differ from it.
    """

    def __init__(
        self,
        message: str,
        *,
        violations: tuple[Violation, ...] = (),
        method: str | None = None,
        path: str | None = None,
        order_id: str | None = None,
        code: str | None = None,
        http_status: int | None = None,
        pause: float | None = None,
        status_code: str | None = None,
    ) -> None:
        super().__init__(message, method=method, path=path, order_id=order_id, code=code, http_status=http_status)
        self.status_code = status_code
        self.violations = violations
        self.pause = pause


class DuplicateOrderError(RefusedError):
    """The order id was used before. After an attempt whose outcome is unknown, this proves that it arrived."""


class NotFoundError(RefusedError):
    """HTTP 404 in the gateway's own shape. Any other 404 is ``NotTheGatewayError``: it may be a proxy's."""


class BadCredentialsError(RefusedError):
    """The account's pos id, keys or secret are wrong."""


class RateLimitedError(RefusedError):
    """Too many requests. ``pause`` is in seconds, ``None`` if the gateway does not state it."""


class OutcomeUnknownError(GatewayError):
    """The request left and may have been done. Never retry it: look the order up."""


class NotTheGatewayError(OutcomeUnknownError):
    """A response not in the gateway's own shape: a 4xx of a proxy or another API, a redirect that leads to no page.

    A redirect also shows that the account's address is not, or no longer, that of the gateway's interface.
    """

    @property
    def wrong_address(self) -> bool:
        """Whether the response redirects elsewhere than to a payment page."""
        return self.http_status is not None and self.http_status < 400


class ReportNotReadyError(GatewayError):
    """The register is still being generated. Fetch it again later."""


class NotificationError(GatewayError):
    """A webhook that is not accepted as a notification of the gateway."""


class ForgedNotificationError(NotificationError):
    """None of the account's secrets signed it."""


class UnreadableNotificationError(NotificationError):
    """Too large, not the form of the interface, or signed but not a record."""
