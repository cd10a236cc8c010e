"""Saleor's versions. Documents are written for the schema of a minor version, such as 3.22.

Within a minor version a few features need a later release; those compare all three numbers.
"""

import re

Version = tuple[int, int]

OLDEST_SUPPORTED: Version = (3, 21)
# The versions from which on transactions have payment method details, the Dashboard has widgets and extensions in any
# place (an older Saleor refuses a manifest that names one), and webhooks in the manifest have identifiers.
WITH_PAYMENT_METHODS: Version = (3, 22)
WITH_WIDGETS: Version = (3, 22)
WITH_ANY_MOUNT: Version = (3, 22)
WITH_WEBHOOK_IDENTIFIERS: Version = (3, 23)

# A release. The third number is None if only the minor version is known, as from ``Saleor-Schema-Version``.
Release = tuple[int, int, int | None]

WITH_APP_PROBLEMS = (3, 22, 36)  # the first with `appProblemCreate`


def parse_version(text: str | None) -> Version:
    """Parse ``3.23`` or ``3.23.28``. Unreadable text counts as the oldest supported version."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?![0-9])", text or "")
    return (int(match[1]), int(match[2])) if match else OLDEST_SUPPORTED


def parse_release(text: str | None) -> Release | None:
    """Parse ``3.22.67`` or ``3.22``, whatever follows; None for unreadable text."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,6}))?(?![0-9])", text or "")
    return (int(match[1]), int(match[2]), int(match[3]) if match[3] else None) if match else None


def format_release(release: Release) -> str:
    """Format a release as it is stored: ``3.22.67``, or ``3.22`` if no more is known."""
    return ".".join(str(number) for number in release if number is not None)
