"""The keys of one merchant account (gateway interface, Authentication)."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from uuid import UUID

from gateway_client.errors import BrokenRule, InvalidRequestError
from gateway_client.hosts import KnownGateway, safe_base_url

# The characters that are safe in an HTTP header. Space around a pasted key is the most common mistake.
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_ADDRESSES = ("base_url", "balances_url", "register_url")


@dataclass(frozen=True, slots=True)
class Credentials:
    """One point of sale: its keys and the base URLs of its APIs.

    ``balances_url`` serves balances, tokens and subscription changes, ``register_url`` the register; both default to
    ``base_url``. ``previous_api_secrets`` still verify webhooks while the secret is being rotated; requests use the
    current one. Raises ``InvalidRequestError`` for values that could not work; its text contains no key.
    """

    pos_id: str
    api_key: str = field(repr=False)
    api_secret: str = field(repr=False)
    endpoints_key: str = field(repr=False)
    base_url: str
    scheme_word: str = "CPAY"
    previous_api_secrets: tuple[str, ...] = field(default=(), repr=False)
    balances_url: str | None = None
    register_url: str | None = None

    def __post_init__(self) -> None:
        previous: object = self.previous_api_secrets
        if isinstance(previous, str):  # as in ("secret"), a tuple without its comma: each character would be a secret
            object.__setattr__(self, "previous_api_secrets", (previous,))
        for name in _ADDRESSES:
            object.__setattr__(self, name, (getattr(self, name) or self.base_url).rstrip("/"))
        values = {
            member.name: getattr(self, member.name) for member in fields(self) if member.name != "previous_api_secrets"
        }
        broken = [rule for wrong in find_invalid(values) for rule in wrong.broken]
        for secret in self.previous_api_secrets:
            broken.extend(_check_printable("previous_api_secrets", secret))
        if broken:
            raise InvalidRequestError.of(broken)

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] = os.environ) -> "Credentials":
        """Return the account of ``GATEWAY_POS_ID``, ``GATEWAY_API_KEY``, ``GATEWAY_API_SECRET``,
        ``GATEWAY_ENDPOINTS_KEY`` and ``GATEWAY_BASE_URL``; where they differ from the defaults also
        ``GATEWAY_SCHEME_WORD``, ``GATEWAY_BALANCES_URL`` and ``GATEWAY_REGISTER_URL``.

        Raises ``InvalidRequestError``, which names every variable that is missing.
        """
        given = {member.name: variables.get(_variable(member.name), "") for member in fields(cls)}
        needed = ("pos_id", "api_key", "api_secret", "endpoints_key", "base_url")
        if missing := [name for name in needed if not given[name]]:
            raise InvalidRequestError.of([BrokenRule(_variable(name), "is required", "nothing") for name in missing])
        return cls(
            pos_id=given["pos_id"],
            api_key=given["api_key"],
            api_secret=given["api_secret"],
            endpoints_key=given["endpoints_key"],
            base_url=given["base_url"],
            scheme_word=given["scheme_word"] or "CPAY",
            balances_url=given["balances_url"] or None,
            register_url=given["register_url"] or None,
        )

    @classmethod
    def at(
        cls,
        gateway: KnownGateway,
        *,
        pos_id: str,
        api_key: str,
        api_secret: str,
        endpoints_key: str,
        previous_api_secrets: tuple[str, ...] = (),
    ) -> "Credentials":
        """Return an account at one of ``hosts.KNOWN_GATEWAYS``."""
        return cls(
            pos_id=pos_id,
            api_key=api_key,
            api_secret=api_secret,
            endpoints_key=endpoints_key,
            base_url=gateway.base_url,
            scheme_word=gateway.scheme_word,
            previous_api_secrets=previous_api_secrets,
            balances_url=gateway.balances_url,
            register_url=gateway.register_url,
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """All secrets of the account."""
        return (self.api_key, self.endpoints_key, *self.webhook_secrets)

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """The secrets that may have signed a webhook, the current one first."""
        return (self.api_secret, *self.previous_api_secrets)

    def headers(self, *, with_endpoints_key: bool) -> dict[str, str]:
        """Return the headers that authenticate a call. Balances, register and tokens need no endpoints key."""
        headers = {"X-API-AUTH": f"{self.scheme_word} {self.api_key}:{self.api_secret}"}
        if with_endpoints_key:
            headers["X-API-KEY"] = self.endpoints_key
        return headers


def find_invalid(values: Mapping[str, str]) -> list[InvalidRequestError]:
    """Return an error for each value that could not work at any gateway. ``values`` are by the field names of
    ``Credentials``; the errors contain no key.
    """
    errors = []
    for name, value in values.items():
        try:
            _check_value(name, value)
        except InvalidRequestError as error:
            errors.append(error)
    return errors


def _check_value(name: str, value: str) -> None:
    if name in _ADDRESSES:
        safe_base_url(name, value)
    elif name != "pos_id":
        if broken := _check_printable(name, value):
            raise InvalidRequestError.of(broken)
    else:
        try:
            UUID(value)
        except ValueError:
            raise InvalidRequestError(name, "a UUID", f"a text of {len(value)} characters") from None


def _check_printable(name: str, value: str) -> list[BrokenRule]:
    if _PRINTABLE.fullmatch(value):
        return []
    return [BrokenRule(name, "printable ASCII without spaces, not empty", f"a text of {len(value)} characters")]


def _variable(name: str) -> str:
    return f"GATEWAY_{name.upper()}"
