"""Everything that can go wrong between Saleor and an app.

::

    SaleorError
    ├── SaleorUnreachableError       no usable response to a request: worth retrying
    ├── SaleorRefusedError           Saleor refuses a request permanently (code, field)
    ├── SaleorNotAuthorisedError     the token is not, not yet or no longer valid for this
    ├── KeysUnusableError            Saleor's signing keys could not be fetched or are invalid
    └── RequestRefusedError          the app refuses an incoming request (status, code)
        ├── RegistrationRefusedError     the app registration; Saleor shows the message to staff
        ├── NotVerifiedError             a webhook, or a Dashboard's token, from an unverified sender: 401
        ├── NotUsableError               a verified webhook that is not acted upon: 4xx, or 503 (asynchronous)
        └── NotPermittedError            a person whom Saleor identifies, but who lacks permission: always 403
    StillUnderwayError               the request is recorded as begun, and its outcome is reported later
    └── TooLateError                 a handler exceeded the time in which Saleor accepts a response; it continues

No message holds a token, a signature or a body.
"""

from collections.abc import Iterable
from typing import Any

from integration_base.connection_failures import ConnectionFailure


class SaleorError(Exception):
    """Base class of the errors of this package. ``connection`` is what was wrong with the connection, if anything."""

    connection: ConnectionFailure | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how it is copied and pickled: not by its constructor, which takes more than the message."""
        return type(self).__new__, (type(self), *self.args), vars(self)


class SaleorUnreachableError(SaleorError):
    """No usable response from Saleor: connection, timeout, 5xx, or a GraphQL error that its schema does not define.

    ``pause``: Saleor has no time for requests (429, or 503 with ``Retry-After``), and wants none for so many seconds; 0
    if it does not say for how long. None: it failed in another way.

    ``status``: something else than Saleor's API answered, with this HTTP status: a proxy that wants a password, a
    firewall, a shop's pages. ``location``: the address that it leads to, without a query. None: neither.
    """

    pause: float | None = None
    status: int | None = None
    location: str | None = None


class SaleorRefusedError(SaleorError):
    """Saleor understood the request and refuses it permanently. ``code`` is Saleor's; ``field`` may be None."""

    def __init__(self, code: str, field: str | None, message: str) -> None:
        super().__init__(f"Saleor refused ({code}{f', {field}' if field else ''}): {message}")
        self.code = code
        self.field = field
        self.message = message


class SaleorNotAuthorisedError(SaleorError):
    """Saleor does not accept this token for this. An app that is not activated yet gets the same error as a forger."""


class KeysUnusableError(SaleorError):
    """The document at Saleor's key address could not be fetched, or is not a set of RSA signing keys."""


class RequestRefusedError(SaleorError):
    """An incoming request that is not acted upon. ``status`` is the HTTP status, ``code`` is for machines."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class RegistrationRefusedError(RequestRefusedError):
    """The app registration failed. Saleor shows ``message`` to the person who installs."""


class NotVerifiedError(RequestRefusedError):
    """A webhook, or a Dashboard's token, that was not signed by an installed Saleor."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(401, code, message)


class NotUsableError(RequestRefusedError):
    """A webhook that Saleor signed, but that cannot or must not be acted upon."""


class NotPermittedError(RequestRefusedError):
    """A member of staff who lacks permissions in Saleor. The message names them as Saleor does."""

    def __init__(self, missing: Iterable[str]) -> None:
        names = ", ".join(sorted(missing))
        super().__init__(403, "NOT_PERMITTED", f"This needs the permission {names} in Saleor.")


class StillUnderwayError(SaleorError):
    """Raised by a handler: the request may have succeeded, and its outcome is reported later. It has not failed."""


class TooLateError(StillUnderwayError):
    """A webhook's handler exceeded the time in which Saleor accepts a response. The handler continues."""
