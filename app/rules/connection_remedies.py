"""What an operator can do about a server that cannot be reached."""

from collections.abc import Mapping
from types import MappingProxyType

from app.i18n.messages import gettext_noop
from integration_base.connection_failures import ConnectionFailure

REMEDIES: Mapping[ConnectionFailure, str] = MappingProxyType(
    {
        ConnectionFailure.UNTRUSTED: gettext_noop(
            "have the server send its whole certificate chain; for an authority of your own, set SSL_CERT_FILE, where "
            "the app runs, to a file of all certificates to trust"
        ),
        ConnectionFailure.EXPIRED: gettext_noop("renew the certificate, and check the clock of the app's machine"),
        ConnectionFailure.OTHER_NAME: gettext_noop(
            "use the name that the certificate is for, or obtain a certificate for this name"
        ),
        ConnectionFailure.NO_TLS: gettext_noop(
            "check whether the port is the one for https, and whether the server accepts TLS 1.2 or newer"
        ),
        ConnectionFailure.UNKNOWN_NAME: gettext_noop(
            "correct the name, or its DNS record, and check the DNS servers of the app's machine"
        ),
        ConnectionFailure.NOT_PUBLIC: gettext_noop(
            "correct its DNS record; a Saleor in your own network must be listed without a star in "
            "APP_ALLOWED_SALEOR_URLS"
        ),
        ConnectionFailure.REFUSED: gettext_noop("check whether it is running, and the port in its address"),
        ConnectionFailure.NO_ROUTE: gettext_noop("check the network of the app's machine"),
        ConnectionFailure.ALL_IN_USE: gettext_noop("try again in a minute"),
        ConnectionFailure.TIMED_OUT: gettext_noop(
            "check whether it is running, and whether the app's machine may connect to it"
        ),
        ConnectionFailure.BROKEN: gettext_noop("check its logs, and those of the proxies on the way"),
        ConnectionFailure.OTHER: gettext_noop(
            "check whether it is running, and whether the app's machine may connect to it"
        ),
    }
)
"""What the operator can do about it, as a clause."""

# What a machine meets that may connect to others through its proxy only.
_BEHIND_A_PROXY = frozenset(
    {
        ConnectionFailure.UNKNOWN_NAME,
        ConnectionFailure.REFUSED,
        ConnectionFailure.NO_ROUTE,
        ConnectionFailure.TIMED_OUT,
        ConnectionFailure.OTHER,
    }
)
_PROXY_VARIABLES = frozenset({"HTTPS_PROXY", "ALL_PROXY"})
_CONNECT_DIRECTLY = gettext_noop(
    "let the app's machine connect to it directly: the app uses no proxy, not even that of HTTPS_PROXY or ALL_PROXY"
)


def remedy_for(failure: ConnectionFailure, environment: Mapping[str, str]) -> str:
    """Return what the operator can do about it, as a clause in English.

    Where the process's ``environment`` names a proxy for what connects to others, that is the likely cause: the app
    checks the addresses that it connects to, and a proxy would resolve their names itself.
    """
    names_proxy = any(name.upper() in _PROXY_VARIABLES and value for name, value in environment.items())
    return _CONNECT_DIRECTLY if names_proxy and failure in _BEHIND_A_PROXY else REMEDIES[failure]
