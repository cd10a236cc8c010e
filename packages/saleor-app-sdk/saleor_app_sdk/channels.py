"""The sales channels of a store. Any app may query them (Saleor's schema: ``Query.channels``, AUTHENTICATED_APP)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation


@dataclass(frozen=True, slots=True)
class Channel:
    """A sales channel of a Saleor, with the code of its currency. Its ``id`` stays when staff change its slug."""

    slug: str
    name: str
    currency: str
    active: bool
    id: str | None = None


async def fetch_channels(
    client: SaleorClient, installation: Installation, *, timeout: timedelta | None = None
) -> list[Channel]:
    """Return the store's channels, by name. Raises what ``graphql`` raises."""
    rows = (await client.execute(installation, "channels", {}, timeout=timeout)).get("channels")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) and _is_slug(row.get("slug")) for row in rows):
        raise SaleorUnreachableError("Saleor returned something other than its channels")
    found = [
        Channel(
            slug=row["slug"],
            name=str(row.get("name") or row["slug"]),
            currency=str(row.get("currencyCode") or ""),
            active=row.get("isActive") is True,
            id=row["id"] if _is_slug(row.get("id")) else None,
        )
        for row in rows
    ]
    return sorted(found, key=lambda channel: (channel.name.casefold(), channel.slug))


def _is_slug(value: object) -> bool:
    return isinstance(value, str) and bool(value)
