"""The signature of the gateway's webhooks (gateway interface, Events: Signature).

``base64url(sha1(secret + data + secret))`` over the raw digest, where ``data`` is the Base64Url text exactly as it
was received and ``secret`` is the account's API secret. 28 characters, including the padding.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable


def sign(data: str, secret: str) -> str:
    """Return the signature of ``data``. Raises ``ValueError`` for an empty secret, with which anyone could sign."""
    if not secret:
        raise ValueError("an empty secret signs nothing")
    # Lone surrogates cannot be UTF-8; they are passed through, so that such a form is rejected instead of crashing.
    text = f"{secret}{data}{secret}".encode(errors="surrogatepass")
    digest = hashlib.sha1(text).digest()  # noqa: S324 - the interface prescribes SHA-1
    return base64.urlsafe_b64encode(digest).decode("ascii")


def verify(data: str, signature: str, secrets: Iterable[str]) -> bool:
    """Return True if one of the ``secrets`` (the current one and, while rotating, previous ones) signed ``data``.

    Every secret is tried, even after a match, and each comparison takes constant time. An empty secret never matches,
    and without secrets nothing does. A text alone is one secret.
    """
    given = signature.encode(errors="surrogatepass")
    matches = False
    # A text is a sequence too, of characters with which anybody could sign.
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        if secret:
            matches |= hmac.compare_digest(sign(data, secret).encode("ascii"), given)
    return matches
