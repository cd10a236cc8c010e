"""Why a server could not be reached, told apart in one place: a gateway, a Saleor, the app itself at its address.

The HTTP library has one error for most of it, and its cause says which: an untrusted certificate is corrected elsewhere
than a name that does not resolve. Its wording is never shown.
"""

import errno
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

import httpcore2
import httpx2

from integration_base.messages import gettext_noop


class ConnectionFailure(StrEnum):
    """The kind of a failure; its value is for machines."""

    UNTRUSTED = "untrusted-certificate"
    EXPIRED = "expired-certificate"
    OTHER_NAME = "certificate-for-another-name"
    NO_TLS = "no-tls"
    UNKNOWN_NAME = "unknown-name"
    NOT_PUBLIC = "not-public"
    REFUSED = "refused"
    NO_ROUTE = "no-route"
    ALL_IN_USE = "all-in-use"
    TIMED_OUT = "timed-out"
    BROKEN = "broken"
    OTHER = "other"


REASONS: Mapping[ConnectionFailure, str] = MappingProxyType(
    {
        ConnectionFailure.UNTRUSTED: gettext_noop("its certificate is from no authority that the app's machine trusts"),
        ConnectionFailure.EXPIRED: gettext_noop("its certificate has expired, or is not valid yet"),
        ConnectionFailure.OTHER_NAME: gettext_noop("its certificate is for another name"),
        ConnectionFailure.NO_TLS: gettext_noop("no TLS connection with it can be agreed on"),
        ConnectionFailure.UNKNOWN_NAME: gettext_noop("its name does not resolve to an address"),
        ConnectionFailure.NOT_PUBLIC: gettext_noop("its name does not lead to the public internet"),
        ConnectionFailure.REFUSED: gettext_noop("it refuses the connection"),
        ConnectionFailure.NO_ROUTE: gettext_noop("no route leads there"),
        ConnectionFailure.ALL_IN_USE: gettext_noop("all connections of the app to it are in use"),
        ConnectionFailure.TIMED_OUT: gettext_noop("it did not answer in time"),
        ConnectionFailure.BROKEN: gettext_noop("the connection ended before a whole HTTP response"),
        ConnectionFailure.OTHER: gettext_noop("the connection failed"),
    }
)
"""What happened, as a clause about the server."""


class NotPublicError(httpcore2.ConnectError):
    """A host that may only lead to the public internet leads elsewhere."""


# Numbers of OpenSSL's verification errors (x509_vfy.h): Python has no names for them.
_NOT_YET_VALID, _HAS_EXPIRED = 9, 10
_OTHER_HOST, _OTHER_IP = 62, 64
_UNFINISHED = (ssl.SSLWantReadError, ssl.SSLWantWriteError)  # a handshake that waits for the other side
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})

# What tells the most comes first: the errors of one failure are of several of these kinds.
_KINDS: tuple[tuple[ConnectionFailure, Callable[[BaseException], bool]], ...] = (
    (ConnectionFailure.EXPIRED, lambda error: _is_certificate_error(error, _NOT_YET_VALID, _HAS_EXPIRED)),
    (ConnectionFailure.OTHER_NAME, lambda error: _is_certificate_error(error, _OTHER_HOST, _OTHER_IP)),
    (ConnectionFailure.UNTRUSTED, lambda error: isinstance(error, ssl.SSLCertVerificationError)),
    (ConnectionFailure.BROKEN, lambda error: isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)),
    (ConnectionFailure.NO_TLS, lambda error: isinstance(error, ssl.SSLError) and not isinstance(error, _UNFINISHED)),
    (ConnectionFailure.UNKNOWN_NAME, lambda error: isinstance(error, socket.gaierror | UnicodeError)),
    (ConnectionFailure.NOT_PUBLIC, lambda error: isinstance(error, NotPublicError)),
    (ConnectionFailure.REFUSED, lambda error: isinstance(error, ConnectionRefusedError)),
    (ConnectionFailure.NO_ROUTE, lambda error: isinstance(error, OSError) and error.errno in _NO_ROUTE),
    (ConnectionFailure.ALL_IN_USE, lambda error: isinstance(error, httpx2.PoolTimeout)),
    (ConnectionFailure.TIMED_OUT, lambda error: isinstance(error, TimeoutError | httpx2.TimeoutException)),
    (
        ConnectionFailure.BROKEN,
        lambda error: isinstance(
            error, ConnectionError | httpx2.ReadError | httpx2.WriteError | httpx2.RemoteProtocolError
        ),
    ),
)


def classify_connection_failure(error: BaseException) -> ConnectionFailure:
    """Return what an error of the HTTP library, or of a timeout, stands for, according to what caused it."""
    causes = list(_causes(error))
    return next((kind for kind, matches in _KINDS if any(map(matches, causes))), ConnectionFailure.OTHER)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):  # one for each address of a host
            for member in error.exceptions:
                yield from _causes(member)
        error = (
            error.__cause__ or error.__context__
        )  # the pool raises the error of a connection anew, without its cause


def _is_certificate_error(error: BaseException, *numbers: int) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in numbers
