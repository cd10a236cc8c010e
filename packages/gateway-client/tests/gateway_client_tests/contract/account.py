"""The account that stories are told with: a sandbox's, the one on the cassettes, or a real one of the environment."""

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import uuid5

from gateway_client.credentials import Credentials
from gateway_client.dialect import DialectName
from gateway_client.sandbox.settings import PointOfSale
from gateway_client_tests.contract.scrubbing import GATEWAY, HIDDEN, WEBHOOKS, Scrubber
from gateway_client_tests.examples import OTHER_SHOP, SHOP

_POS = PointOfSale()
SUB_MERCHANTS = (SHOP, OTHER_SHOP)
# What stands on the cassettes: nothing in it is anybody's.
ON_CASSETTES = Credentials(
    pos_id=str(_POS.pos_id),
    api_key="key-on-cassettes",
    api_secret="secret-on-cassettes",
    endpoints_key="endpoints-key-on-cassettes",
    base_url=GATEWAY,
)
FICTITIOUS = str(uuid5(_POS.pos_id, "nobody"))


@dataclass(frozen=True)
class Account:
    """Keys and addresses of one point of sale, and with what its stories are told.

    ``sub_merchants`` is empty where none are known: then nothing is split. ``webhook_url`` is where the gateway
    reaches us, ``webhook_port`` where we listen for it; without it no webhook comes.
    """

    credentials: Credentials
    currency: str = "UAH"
    sub_merchants: tuple[str, ...] = SUB_MERCHANTS
    webhook_url: str | None = None
    webhook_port: int = 0

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> "Account | None":
        """The account that ``GATEWAY_BASE_URL`` and its like name, ``None`` without that variable.

        ``KeyError`` names a variable that is missing; of what is in them nothing is told.
        """
        if not (base_url := environment.get("GATEWAY_BASE_URL")):
            return None
        credentials = Credentials(
            pos_id=environment["GATEWAY_POS_ID"],
            api_key=environment["GATEWAY_API_KEY"],
            api_secret=environment["GATEWAY_API_SECRET"],
            endpoints_key=environment["GATEWAY_ENDPOINTS_KEY"],
            base_url=base_url,
            scheme_word=environment.get("GATEWAY_SCHEME_WORD") or "CPAY",
            balances_url=environment.get("GATEWAY_BALANCES_URL") or None,
            register_url=environment.get("GATEWAY_REGISTER_URL") or None,
        )
        subs = tuple(text.strip() for text in environment.get("GATEWAY_SUB_MERCHANTS", "").split(",") if text.strip())
        here = _loopback(base_url)
        return cls(
            credentials=credentials,
            currency=environment.get("GATEWAY_CURRENCY") or "UAH",
            sub_merchants=subs or (SUB_MERCHANTS if here else ()),
            webhook_url=environment.get("GATEWAY_WEBHOOK_URL") or None,
            webhook_port=int(environment.get("GATEWAY_WEBHOOK_PORT") or 0),
        )

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where this account is served."""
        keys = self.credentials
        return tuple(url for url in (keys.base_url, keys.balances_url, keys.register_url) if url)

    @property
    def on_this_machine(self) -> bool:
        """Whether all of it is on this machine: a sandbox then, since no gateway is."""
        return all(_loopback(address) for address in self.addresses)

    def scrubber(self, webhooks: str | None = None) -> Scrubber:
        """What takes this account's own words out; ``webhooks`` is the address that hears them."""
        keys = self.credentials
        names = dict.fromkeys(self.addresses, GATEWAY)
        names |= {keys.pos_id: ON_CASSETTES.pos_id}
        names |= dict.fromkeys((keys.api_key, keys.api_secret, keys.endpoints_key), HIDDEN)
        names |= dict(zip(self.sub_merchants, SUB_MERCHANTS, strict=False))
        if webhooks is not None:
            names[webhooks] = WEBHOOKS
        # The longest first: one may be the beginning of another.
        return Scrubber(dict(sorted(names.items(), key=lambda pair: -len(pair[0]))))


def _loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def dialect_of_environment(variables: Mapping[str, str]) -> str:
    """The dialect that the account's gateway speaks."""
    return variables.get("GATEWAY_DIALECT") or DialectName.PUBLIC.value


def may_be_run(account: Account, story: str, *, reads_only: bool, ask: Callable[[str], str]) -> bool:
    """Whether a story may be told to this account's gateway.

    On this machine and where it only reads: yes. Everywhere else only if the person at the terminal says "yes" to
    this very story; nobody there is a no.
    """
    if account.on_this_machine or reads_only:
        return True
    question = f'\n"{story}" moves money of {account.credentials.pos_id} at {account.credentials.base_url}. Type yes: '
    try:
        return ask(question).strip().lower() == "yes"
    except (EOFError, OSError):  # pytest lends no terminal unless told to (-s)
        return False
