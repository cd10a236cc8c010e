"""Tries an account out: one harmless call to the gateway (the look-up of an order that does not exist), then words."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2

from app.commands.account_view import AccountView
from app.gateway.client import GatewayClient
from app.gateway.credentials import Credentials
from app.gateway.errors import BadCredentials, GatewayError, NotSent, OutcomeUnknown, RateLimited, Refused
from app.gateway.hosts import reachable_by_webhook

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. ``wrong``: why no payment can be made. ``warnings``: what will be missed otherwise."""

    view: AccountView
    wrong: str | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return it for scripts."""
        account = self.view.account
        return {
            "account": account.id,
            "name": account.name,
            "ok": self.wrong is None,
            "wrong": self.wrong,
            "warnings": list(self.warnings),
        }


async def check(client: GatewayClient, view: AccountView, *, new: bool = False) -> Finding:
    """Try an account out and look at what surrounds it. That no channel uses a ``new`` one yet is no news."""
    found = [
        _unreachable(view),
        _switched_off(view),
        None if new else _without_channel(view),
        _without_storefront(view),
    ]
    return Finding(view, await try_out(client, view.account.base_url), tuple(words for words in found if words))


async def try_credentials(credentials: Credentials) -> str | None:
    """Try credentials out that are not kept yet; return what is wrong, in words, or None."""
    async with httpx2.AsyncClient(follow_redirects=False, trust_env=False) as http:
        return await try_out(GatewayClient(http, credentials), credentials.base_url)


async def try_out(client: GatewayClient, base_url: str) -> str | None:
    """Ask the gateway something harmless; return what is wrong, in words, or None."""
    try:
        await client.check_credentials(timeout=_SECONDS)
    except GatewayError as error:
        return in_words(error, urlsplit(base_url).netloc)
    return None


def in_words(error: GatewayError, host: str) -> str:  # noqa: PLR0911 - one return for each thing that can be wrong
    """Return what an error of the harmless call means for somebody who sets an account up."""
    code = f" [{error.code}]" if error.code else ""
    http = f"HTTP {error.http_status}"
    match error:
        case BadCredentials():
            return (
                f"the gateway at {host} refuses these keys{code}: compare the point of sale, the API key, the API "
                "secret and the endpoints key with the merchant portal"
            )
        case RateLimited():
            return f"the gateway at {host} is busy, so nothing is known of the keys{code}: try again in a minute"
        case NotSent():
            return (
                f"no connection to {host}: check the address, its certificate, and that this machine may connect to it"
            )
        case OutcomeUnknown(http_status=None):
            return f"{host} takes the question and gives no answer: the gateway is down, or this is not its address"
        case OutcomeUnknown(http_status=int(status)) if 300 <= status < 400:
            return f"{host} sends callers elsewhere ({http}): this is not the address of the gateway's interface"
        case OutcomeUnknown(http_status=int(status)) if status >= 500 or status == 408:
            return f"the gateway at {host} is in trouble ({http}), so nothing is known of the keys: try again later"
        case Refused() if error.code or error.http_status not in {403, 404, 405, 410}:
            return f"the gateway at {host} refuses to look an order up: {error.message.rstrip('.')} ({http}){code}"
        case _:
            return f"what answers at {host} is not the gateway ({http}): check the address"


def _unreachable(view: AccountView) -> str | None:
    if reachable_by_webhook(view.notification_address):
        return None
    nearby = " (a gateway on this machine can)" if view.account.base_url.startswith("http:") else ""
    return (
        f"the gateway cannot notify {view.notification_address}{nearby}: it calls public https addresses on port 443 "
        "or 8443 only. Set APP_BASE_URL to one; until then outcomes are known later, by looking payments up"
    )


def _switched_off(view: AccountView) -> str | None:
    return None if view.account.enabled else "the account is switched off: no payment is begun with it"


def _without_channel(view: AccountView) -> str | None:
    if view.channels:
        return None
    return f"no channel uses the account: run `saleor-gateway channels map CHANNEL {view.account.id}`"


def _without_storefront(view: AccountView) -> str | None:
    if view.account.storefront_origins:
        return None
    return (
        "no storefront is named, so none can have its shoppers sent back: run "
        f"`saleor-gateway accounts set {view.account.id} --storefront ORIGIN`"
    )
