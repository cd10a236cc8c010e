"""What may not be on a cassette, and what stands there instead.

Keys, cards, tokens, people, other merchants and balances are taken out of requests and answers alike; addresses and the
account's own identifiers are replaced by fixed ones, so that a cassette looks the same wherever it was recorded.
Numbers keep their digits (``integration_base.exact_json``), members keep their order. Doing it twice changes nothing: a
request that is compared with a cassette goes through the same hands as the one that was recorded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from gateway_client.errors import sanitize
from gateway_client.models.base import CARD_FIELDS
from gateway_client.notification import decode, encode
from gateway_client.signature import sign
from integration_base import exact_json

HIDDEN = "(filtered)"
GATEWAY, WEBHOOKS = "https://gateway.example", "https://shop.example/gateway"
MASK = "424242******4242"

_SECRET_HEADERS = ("X-API-AUTH", "X-API-KEY")
_KEPT_REQUEST_HEADERS = frozenset({"accept", "content-type"})
_KEPT_ANSWER_HEADERS = frozenset({"content-type", "location", "retry-after"})

_HIDDEN_PREFIXES = ("customer_", "recipient_", "wallet_", "browser")
_FINGERPRINT = "browser_fingerprint"  # its members begin like that too
_HIDDEN_MEMBERS = CARD_FIELDS | {
    "authCode", "rrnCode", "bank_short_name",  # of the payer's bank
    "entityName", "projectName", "receiverName",  # merchants
}  # fmt: skip
_INSTEAD: Mapping[str, Any] = {
    **dict.fromkeys(("cc_mask", "cardMask", "recipientCardMask"), MASK),
    # Whoever knows these addresses sees the receipt, or stands in the payer's place.
    "receipt_url": f"{GATEWAY}/receipt",
    "user_action_url": f"{GATEWAY}/action",
    "available": Decimal("1000.00"),
    "rollingReserve": Decimal("100.00"),
    "rolling_reserve": Decimal("100.00"),
}
_QUOTING = frozenset({"message", "violation", "status_description"})  # gateways repeat what they refuse
# Lists hold all payments of a period, not only those of the stories.
_HIDDEN_IN_LISTS = frozenset({"description", "payload"})


@dataclass(frozen=True)
class Scrubber:
    """Takes out what may not be seen. ``names`` are this account's own words, and what is written instead of each."""

    names: Mapping[str, str]

    def address(self, text: str) -> str:
        """``text`` without the account's own words."""
        for own, instead in self.names.items():
            text = re.sub(re.escape(own), lambda _found, to=instead: to, text, flags=re.IGNORECASE)  # type: ignore[misc]  # the default binds the loop's value
        return text

    def request_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Which headers of authentication were sent, not what they said; no cookies, nothing of the HTTP library."""
        kept = {name: value for name, value in headers.items() if name.lower() in _KEPT_REQUEST_HEADERS}
        return kept | {name: HIDDEN for name in _SECRET_HEADERS if name.lower() in {sent.lower() for sent in headers}}

    def answer_headers(self, headers: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """The headers that mean something: no cookies, no dates, nothing about the server."""
        kept = {name: values for name, values in headers.items() if name.lower() in _KEPT_ANSWER_HEADERS}
        return {name.lower(): [self.address(value) for value in values] for name, values in kept.items()}

    def body(self, content: bytes) -> bytes:
        """A JSON document, or one on each line. Anything else is not kept: nobody knows what is in it."""
        if not content.strip():
            return content
        for pieces in ([content], content.rstrip(b"\n").split(b"\n")):
            try:
                text = "\n".join(exact_json.dumps(self.document(exact_json.loads(piece))) for piece in pieces)
            except exact_json.NotJsonError:
                continue
            return text.encode("ascii") + (b"\n" if content.endswith(b"\n") else b"")
        return HIDDEN.encode("ascii")

    def document(self, value: Any, name: str = "", *, in_list: bool = False) -> Any:
        """A decoded JSON value, ``name`` being that of the member that it is."""
        if value is None or value == "" or isinstance(value, bool):
            return value
        if in_list and name in _HIDDEN_IN_LISTS:
            return HIDDEN
        if name in _HIDDEN_MEMBERS or (name.startswith(_HIDDEN_PREFIXES) and name != _FINGERPRINT):
            return HIDDEN
        if isinstance(value, Mapping):
            listed = "orderId" in value
            return {key: self.document(item, key, in_list=listed) for key, item in value.items()}
        if isinstance(value, list):
            return [self.document(item) for item in value]
        if isinstance(value, str):
            value = sanitize(self.address(value)) if name in _QUOTING else self.address(value)
        return _INSTEAD.get(name, value)

    def webhook(self, data: str, secret: str) -> bytes:
        """The form of a webhook with scrubbed ``data``, signed again with ``secret``; padded or not, as it was."""
        text = encode(self.document(decode(data)))
        text = text if len(data) % 4 == 0 else text.rstrip("=")
        return urlencode({"data": text, "signature": sign(text, secret)}).encode("ascii")
