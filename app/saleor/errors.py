"""Everything that can go wrong between Saleor and an app.

::

    SaleorError
    ├── SaleorUnreachableError       we asked, and no usable answer came: worth asking again
    ├── SaleorRefusedError           we asked, and Saleor says no for good (code, field)
    ├── SaleorNotAuthorisedError     the token is not, not yet or no longer good for this
    ├── KeysUnusableError            what should be Saleor's signing keys is not
    └── RequestRefusedError          somebody asked us, and we say no (status, code)
        ├── RegistrationRefusedError     the install handshake; Saleor shows the message to staff
        ├── NotVerifiedError             a webhook, or a Dashboard's token, of which nobody knows whose it is: 401
        ├── NotUsableError               Saleor's own webhook, but not acted upon: 4xx, or 503 (asynchronous)
        └── NotPermittedError            a person whom Saleor vouches for, but who may not do this: always 403
    StillUnderwayError               what was asked is recorded as begun, and its outcome is told later
    └── TooLateError                 a handler has used up the time in which Saleor reads an answer; it goes on even so

No message holds a token, a signature or a body.
"""

from collections.abc import Iterable


class SaleorError(Exception):
    """Root of this room's errors."""


class SaleorUnreachableError(SaleorError):
    """No usable answer from Saleor: connection, time-out, 5xx, or a GraphQL error that its schema does not promise."""


class SaleorRefusedError(SaleorError):
    """Saleor understood and will not do it, now or later. ``code`` is Saleor's; ``field`` may be None."""

    def __init__(self, code: str, field: str | None, message: str) -> None:
        super().__init__(f"Saleor refused ({code}{f', {field}' if field else ''}): {message}")
        self.code = code
        self.field = field
        self.message = message


class SaleorNotAuthorisedError(SaleorError):
    """Saleor does not take this token for this. An app that is not activated yet hears the same as a forger."""


class KeysUnusableError(SaleorError):
    """The document at Saleor's key address could not be fetched, or is not a set of RSA signing keys."""


class RequestRefusedError(SaleorError):
    """A request to us that is not acted upon. ``status`` is the HTTP status, ``code`` one word for machines."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class RegistrationRefusedError(RequestRefusedError):
    """The install handshake failed. Saleor shows ``message`` to the person who installs."""


class NotVerifiedError(RequestRefusedError):
    """A webhook, or a Dashboard's token, that no Saleor known to us has signed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(401, code, message)


class NotUsableError(RequestRefusedError):
    """A webhook that Saleor did sign, but that cannot or must not be acted upon."""


class NotPermittedError(RequestRefusedError):
    """A member of staff who lacks permissions in Saleor. The message names them as Saleor does."""

    def __init__(self, lacking: Iterable[str]) -> None:
        names = ", ".join(sorted(lacking))
        super().__init__(403, "NOT_PERMITTED", f"This needs the permission {names} in Saleor.")


class StillUnderwayError(SaleorError):
    """Raised by a handler: what was asked may have been done, and its outcome is told later. It has not failed."""


class TooLateError(StillUnderwayError):
    """A webhook's handler is not over in the time in which Saleor reads an answer. What it does goes on."""
