"""Saleor's versions. The schema that documents are written for is that of a line, its first two numbers.

Within a line a few things come with a later release; what needs one of those asks for all three numbers.
"""

import re

Version = tuple[int, int]

OLDEST_SUPPORTED: Version = (3, 21)
# From here on transactions know how they were paid, the Dashboard has widgets (an older Saleor refuses a manifest that
# names one), and the manifest may name its webhooks.
WITH_PAYMENT_METHODS: Version = (3, 22)
WITH_WIDGETS: Version = (3, 22)
WITH_WEBHOOK_IDENTIFIERS: Version = (3, 23)

# A release. The third number is None where only a line is known, as from ``Saleor-Schema-Version``.
Release = tuple[int, int, int | None]

WITH_APP_PROBLEMS = (3, 22, 36)  # the first with `appProblemCreate`


def read_version(text: str | None) -> Version:
    """Read ``3.23`` or ``3.23.28``. What says nothing readable is taken for the oldest version that is supported."""
    said = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?![0-9])", text or "")
    return (int(said[1]), int(said[2])) if said else OLDEST_SUPPORTED


def read_release(text: str | None) -> Release | None:
    """Read ``3.22.67`` or ``3.22``, whatever stands behind; None for what says nothing readable."""
    said = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,6}))?(?![0-9])", text or "")
    return (int(said[1]), int(said[2]), int(said[3]) if said[3] else None) if said else None


def written(release: Release) -> str:
    """Write a release as it is kept: ``3.22.67``, or ``3.22`` where no more is known."""
    return ".".join(str(number) for number in release if number is not None)
