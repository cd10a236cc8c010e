"""What a storefront does in the browser, done in Python: a card is sealed for the key that the app offers."""

import json
from typing import Any

from joserfc import jwe
from joserfc.jwk import RSAKey

ALGORITHMS = ["RSA-OAEP-256", "A256GCM"]
NUMBER, CVV = "4242424242424242", "937"
CARD: dict[str, Any] = {"number": NUMBER, "expMonth": 12, "expYear": 2030, "cvv": CVV}

BROWSER: dict[str, Any] = {
    "browserColorDepth": "24",
    "browserScreenHeight": 1080,
    "browserScreenWidth": 1920,
    "browserJavaEnabled": False,
    "browserLanguage": "uk-UA",
    "browserTimeZone": "Europe/Kyiv",
    "browserTimeZoneOffset": "-120",
    "browserAcceptHeader": "*/*",
    "browserUserAgent": "Mozilla/5.0",
}


def seal(content: object, jwk: dict[str, Any], **header: Any) -> str:
    """Return a compact JWE of ``content`` (JSON, or bytes as they are); ``header`` changes or adds to the header."""
    plaintext = content if isinstance(content, bytes) else json.dumps(content).encode()
    members = {"alg": ALGORITHMS[0], "enc": ALGORITHMS[1], "kid": jwk["kid"], **header}
    algorithms = [*ALGORITHMS, *(value for value in header.values() if isinstance(value, str))]
    key = RSAKey.import_key({name: jwk[name] for name in ("kty", "n", "e")})
    return jwe.encrypt_compact({name: value for name, value in members.items() if value}, plaintext, key, algorithms)
