"""The TLS context of the sandbox's clients."""

import os
import ssl
from functools import cache


def shared_ssl_context() -> ssl.SSLContext:
    """Return the TLS context that the clients of this process share: creating one reads all trusted certificates.

    It trusts what OpenSSL's SSL_CERT_FILE and SSL_CERT_DIR name now.
    """
    return _context_for(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context_for(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return ssl.create_default_context()
