"""Deep links from outside the Dashboard into it: Saleor shows one at each transaction.

A user who follows such a link is not authenticated. So they learn only the address of the Dashboard of the store that
the link names, which its staff know anyway: the app does not even check whether such a payment exists. They are only
redirected to an address that the operator has set, or to Saleor Cloud (docs/decisions, 0011). An address that a store's
own staff have named is shown to them, and they follow it themselves (0028), unless they come from that very Dashboard.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from app.store.installations import InstallationRepository, OpenInstallation
from saleor_app_sdk.addresses import is_api_url
from saleor_app_sdk.dashboard_address import app_page_address, cloud_dashboard_address, origin_of

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
    """A page of ours in a store's Dashboard, and the Dashboard's own address.

    ``may_redirect``: a browser may be sent there without asking its user, wherever it comes from.
    """

    address: str
    dashboard: str
    may_redirect: bool

    def may_redirect_from(self, referrer: str) -> bool:
        """Whether a browser that comes from ``referrer`` may be sent there: back into the same Dashboard it always may.

        Only the Dashboard's own pages can send its origin as the referrer, so nobody is led to a site they are not on.
        """
        return self.may_redirect or origin_of(referrer) == origin_of(self.dashboard)


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
        app_page_address(known.address, installation.app_id, path),
        known.address,
        may_redirect=known.named_by is not NamedBy.STAFF,
    )
