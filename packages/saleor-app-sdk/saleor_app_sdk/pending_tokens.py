"""Which unproven token, or installation, makes way for a new one where there are too many.

A stranger's garbage cannot be told from a genuine token. So no new one is refused, and the one that makes way is one of
many that came at a time: a flood displaces itself.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

MAX_PENDING_TOKENS = 50
"""The most unproven tokens of one Saleor."""

PENDING_LIFETIME = timedelta(days=7)
"""After this time an unproven token makes way before all others."""

MAX_UNPROVEN_INSTALLATIONS = 50
"""The most Saleors of which there are only tokens that were never proven."""


def choose_token_to_replace(received_at: Sequence[datetime], now: datetime) -> int:
    """Return the index of the token that makes way. ``received_at`` are the newest first, and not empty."""
    oldest = len(received_at) - 1
    return oldest if now - received_at[oldest] >= PENDING_LIFETIME else find_most_crowded(received_at, now)


def find_most_crowded(moments: Sequence[datetime], now: datetime) -> int:
    """Return the index of the moment whose neighbours are closest together.

    ``moments`` are the newest first, and ``now`` is newer still. The oldest has only one neighbour, and stays.
    """
    newer, older = (now, *moments), moments[1:]
    spans = [abs(later - earlier) for later, earlier in zip(newer, older, strict=False)]
    return spans.index(min(spans)) if spans else 0
