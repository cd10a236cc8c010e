"""From a link that was opened beside the Dashboard into it: Saleor shows one at each transaction.

Whoever follows such a link has proven nothing. So they learn where the Dashboard of the store is that the link names,
which its staff know anyway, and nothing else: nobody looks whether there is such a payment. They are only ever sent to
an address that the operator has set, or to Saleor Cloud (docs/decisions, 0011). An address that a store's own staff
have named is shown to them, and they follow it themselves (0028).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from app.db.installations import InstallationRepository, OpenInstallation
from app.saleor.addresses import is_api_url
from app.saleor.dashboard_address import app_page_in, dashboard_beside

_PAGE = re.compile(r"(/[A-Za-z0-9_-]+)*/?")


class NamedBy(StrEnum):
    """Who has said where a store's Dashboard is."""

    OPERATOR = "operator"
    SALEOR_CLOUD = "saleor cloud"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class KnownDashboard:
    """Where a store's Dashboard is, with a slash at the end, and who says so."""

    address: str
    named_by: NamedBy


@dataclass(frozen=True, slots=True)
class WayIn:
    """A page of ours in a store's Dashboard. ``at_once``: a browser may be sent there without asking its person."""

    address: str
    at_once: bool


def dashboard_of(installation: OpenInstallation) -> KnownDashboard | None:
    """Return where a store's Dashboard is; None when nobody has told it. The operator's word goes before all others."""
    if installation.dashboard_url is not None:
        return KnownDashboard(installation.dashboard_url, NamedBy.OPERATOR)
    in_cloud = dashboard_beside(installation.saleor_api_url)
    if in_cloud is not None:
        return KnownDashboard(in_cloud, NamedBy.SALEOR_CLOUD)
    if installation.staff_dashboard_url is not None:
        return KnownDashboard(installation.staff_dashboard_url, NamedBy.STAFF)
    return None


async def way_in(installations: InstallationRepository, saleor_api_url: str, path: str) -> WayIn | None:
    """Return where the Dashboard of that store shows our page at ``path``; None when that is not known."""
    if not is_api_url(saleor_api_url) or not _PAGE.fullmatch(path):
        return None
    installation = await installations.find(saleor_api_url)
    known = None if installation is None else dashboard_of(installation)
    if installation is None or known is None or installation.app_id is None:
        return None
    return WayIn(app_page_in(known.address, installation.app_id, path), at_once=known.named_by is not NamedBy.STAFF)
