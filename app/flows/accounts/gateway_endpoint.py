"""The addresses of an account's gateway, and credentials that could work there. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.rules.accounts.option_values import OptionsRefusedError
from app.rules.origins import origin_of
from app.store.accounts import AccountKeys
from app.store.tables import MerchantAccount
from gateway_client.credentials import Credentials, find_invalid
from gateway_client.dialect import DialectName
from gateway_client.hosts import KNOWN_GATEWAYS

DEFAULT_SCHEME_WORD = "CPAY"


@dataclass(frozen=True, slots=True)
class GatewayEndpoint:
    """The addresses of a gateway; ``balances_url`` and ``register_url`` are None where ``base_url`` serves them.

    ``dialect`` is that of a new account there: of a gateway that is not known, nothing is assumed (laws of money, 16).
    """

    name: str
    base_url: str
    scheme_word: str
    balances_url: str | None = None
    register_url: str | None = None
    dialect: DialectName = DialectName.INTERFACE

    @classmethod
    def for_account(cls, account: MerchantAccount) -> "GatewayEndpoint":
        """Return the endpoint of an account's gateway."""
        return cls(account.name, account.base_url, account.scheme_word, account.balances_url, account.register_url)

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns of an account at this endpoint, and the fields of its credentials."""
        return {
            "base_url": self.base_url,
            "scheme_word": self.scheme_word,
            "balances_url": self.balances_url,
            "register_url": self.register_url,
        }

    def with_urls_from(self, columns: Mapping[str, object]) -> "GatewayEndpoint":
        """Return the endpoint with the addresses among an account's ``columns`` instead of its own."""
        balances = columns.get("balances_url", self.balances_url)
        register = columns.get("register_url", self.register_url)
        return replace(
            self,
            balances_url=None if balances is None else str(balances),
            register_url=None if register is None else str(register),
        )


def resolve_endpoint(preset: str | None, base_url: str | None, scheme_word: str | None) -> GatewayEndpoint | None:
    """Return the endpoint of a preset or an address; None when neither is given. Raises OptionsRefusedError."""
    preset, base_url, scheme_word = (text and text.strip() for text in (preset, base_url, scheme_word))
    if preset is not None and base_url is not None:
        raise OptionsRefusedError({"gateway": "give either this or the address of another gateway"})
    if preset is not None:
        known = KNOWN_GATEWAYS.get(preset.lower())
        if known is None:
            message = f"{preset!r} is not one of {', '.join(KNOWN_GATEWAYS)}; any other is named by its address"
            raise OptionsRefusedError({"gateway": message})
        return GatewayEndpoint(
            name=known.name,
            base_url=known.base_url,
            scheme_word=scheme_word or known.scheme_word,
            balances_url=known.balances_url,
            register_url=known.register_url,
            dialect=known.dialect,
        )
    if base_url is not None:
        origin = origin_of(base_url) or base_url
        return GatewayEndpoint(origin.partition("://")[2], base_url.rstrip("/"), scheme_word or DEFAULT_SCHEME_WORD)
    return None


def build_credentials(pos_id: str, endpoint: GatewayEndpoint, keys: AccountKeys) -> Credentials:
    """Return credentials that could work. Raises OptionsRefusedError, which names what is invalid, but no secret."""
    values = _point_of_sale(pos_id, keys) | {
        name: value for name, value in endpoint.columns.items() if value is not None
    }
    _validate(values)
    return Credentials(previous_api_secrets=(), **values)


def check_point_of_sale(pos_id: str, keys: AccountKeys) -> None:
    """Raise OptionsRefusedError for an id and keys that could not work at any gateway."""
    _validate(_point_of_sale(pos_id, keys))


def _point_of_sale(pos_id: str, keys: AccountKeys) -> dict[str, str]:
    key_values = {name: getattr(keys, name) for name in ("api_key", "api_secret", "endpoints_key")}
    return {"pos_id": pos_id.strip().lower()} | key_values


def _validate(values: Mapping[str, str]) -> None:
    invalid = {broken.field: f"{broken.limit}; given: {broken.given}" for broken in find_invalid(values)}
    if invalid:
        raise OptionsRefusedError(invalid)
