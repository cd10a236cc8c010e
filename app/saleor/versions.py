"""Saleor's schema versions. Only the first two numbers count: the schema does not change within a line."""

import re

Version = tuple[int, int]

OLDEST_SUPPORTED: Version = (3, 21)
# From here on transactions know how they were paid, the Dashboard has widgets (an older Saleor refuses a manifest that
# names one), and the manifest may name its webhooks.
WITH_PAYMENT_METHODS: Version = (3, 22)
WITH_WIDGETS: Version = (3, 22)
WITH_APP_PROBLEMS: Version = (3, 22)
WITH_WEBHOOK_IDENTIFIERS: Version = (3, 23)


def read_version(text: str | None) -> Version:
    """Read ``3.23`` or ``3.23.28``. What says nothing readable is taken for the oldest version that is supported."""
    said = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?![0-9])", text or "")
    return (int(said[1]), int(said[2])) if said else OLDEST_SUPPORTED
