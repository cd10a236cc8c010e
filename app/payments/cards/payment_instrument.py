"""What a shopper pays with in the storefront: a card as it was typed, a token, or a wallet's cryptogram."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, repr=False)
class PaymentInstrument:
    """The members of the gateway's request that say it (gateway interface, 1a). In memory for one call only.

    Whatever shows or logs it sees nothing of it.
    """

    members: Mapping[str, Any]

    def __repr__(self) -> str:
        return "<Means, not shown>"
