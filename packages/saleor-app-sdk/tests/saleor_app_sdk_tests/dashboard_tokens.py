"""Tokens that a Saleor hands to its Dashboard, and some that it never made."""

import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from integration_base_tests.clock import Clock
from saleor_app_sdk_tests.fake_saleor import API_URL, SigningKey, b64, signing_key

APP_ID = "QXBwOjE="


def jwt(key: SigningKey, claims: object, **header: Any) -> str:
    said = {"alg": "RS256", "typ": "JWT", "kid": key.kid} | header
    text = f"{b64(json.dumps(said).encode())}.{b64(json.dumps(claims).encode())}"
    return f"{text}.{b64(key.private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def claims(clock: Clock, **changed: Any) -> dict[str, Any]:
    """Return what Saleor says of a member of staff who opened our page just now."""
    now = int(clock().timestamp())
    return {
        "iat": now,
        "exp": now + 300,
        "owner": "saleor",
        "iss": API_URL,
        "type": "thirdparty",
        "token": "abc",
        "email": "staff@example.com",
        "user_id": "VXNlcjox",
        "is_staff": True,
        "app": APP_ID,
        "permissions": ["HANDLE_PAYMENTS"],
        "user_permissions": ["HANDLE_PAYMENTS", "MANAGE_ORDERS"],
    } | changed


def forgeries(key: SigningKey, said: dict[str, Any]) -> dict[str, str]:
    header, payload, signature = jwt(key, said).split(".")
    other = b64(json.dumps(said | {"user_permissions": ["MANAGE_APPS"]}).encode())
    none = b64(json.dumps({"alg": "none", "kid": key.kid}).encode())
    symmetric = b64(json.dumps({"alg": "HS256", "kid": key.kid}).encode())
    return {
        "another payload": f"{header}.{other}.{signature}",
        "no signature": f"{header}.{payload}.",
        "no algorithm": f"{none}.{payload}.",
        "no algorithm, signed": f"{none}.{payload}.{signature}",
        "our public key as a shared secret": f"{symmetric}.{payload}.{signature}",
        "another key of that name": jwt(SigningKey(signing_key("second").private, key.kid), said),
        "no name of a key": jwt(key, said, kid=None),
        "a name that is none": jwt(key, said, kid=7),
        "demands nobody understands": jwt(key, said, crit=["exp"]),
        "not an object": jwt(key, ["thirdparty"]),
        "two points too few": "abc",
        "nothing between the points": "..",
        "not ASCII": "ключ.ключ.ключ",
        "endless": "a" * 20_000,
        "empty": "",
    }
