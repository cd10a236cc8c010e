"""Deep links from outside the Dashboard into it: Saleor shows one at each transaction.

A user who follows such a link is not authenticated. So they learn only the address of the Dashboard of the store that
the link names, which its staff know anyway: the app does not even check whether such a payment exists. They are only
redirected to an address that the operator has set, or to Saleor Cloud (docs/decisions, 0011). An address that a store's
own staff have named is shown to them, and they follow it themselves (0028).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from app.db.installations import InstallationRepository, OpenInstallation
from app.saleor.addresses import is_api_url
from app.saleor.dashboard_address import app_page_address, cloud_dashboard_address

_PAGE = re.compile(r"(/[A-Za-z0-9_-]+)*/?")


class NamedBy(StrEnum):
    """The source of a store's Dashboard address."""

    OPERATOR = "operator"
    SALEOR_CLOUD = "saleor cloud"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class KnownDashboard:
    """The address of a store's Dashboard, with a trailing slash, and its source."""

    address: str
    named_by: NamedBy


@dataclass(frozen=True, slots=True)
class DeepLink:
    """A page of ours in a store's Dashboard. ``may_redirect``: a browser may be sent there without asking its user."""

    address: str
    may_redirect: bool


def dashboard_of(installation: OpenInstallation) -> KnownDashboard | None:
    """Return the address of a store's Dashboard; None when it is not known. The operator's setting takes precedence."""
    if installation.dashboard_url is not None:
        return KnownDashboard(installation.dashboard_url, NamedBy.OPERATOR)
    cloud_address = cloud_dashboard_address(installation.saleor_api_url)
    if cloud_address is not None:
        return KnownDashboard(cloud_address, NamedBy.SALEOR_CLOUD)
    if installation.staff_dashboard_url is not None:
        return KnownDashboard(installation.staff_dashboard_url, NamedBy.STAFF)
    return None


async def find_deep_link(installations: InstallationRepository, saleor_api_url: str, path: str) -> DeepLink | None:
    """Return the link to our page at ``path`` in that store's Dashboard; None when its address is not known."""
    if not is_api_url(saleor_api_url) or not _PAGE.fullmatch(path):
        return None
    installation = await installations.find(saleor_api_url)
    known = None if installation is None else dashboard_of(installation)
    if installation is None or known is None or installation.app_id is None:
        return None
    return DeepLink(
        app_page_address(known.address, installation.app_id, path), may_redirect=known.named_by is not NamedBy.STAFF
    )
