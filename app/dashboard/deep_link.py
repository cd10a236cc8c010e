"""From a link that was opened beside the Dashboard into it: Saleor shows one at each transaction.

Whoever follows such a link has proven nothing. So they learn where the Dashboard of the store is that the link names,
which its staff know anyway, and nothing else: nobody looks whether there is such a payment. They are only ever sent to
an address that the operator has set, or to Saleor Cloud (docs/decisions, 0011).
"""

import re

from app.db.installations import InstallationRepository, OpenInstallation
from app.saleor.addresses import is_api_url
from app.saleor.dashboard_address import app_page_in, dashboard_beside

_PAGE = re.compile(r"(/[A-Za-z0-9_-]+)*/?")


def dashboard_of(installation: OpenInstallation) -> str | None:
    """Return the address of a store's Dashboard; None when nobody has told it."""
    return installation.dashboard_url or dashboard_beside(installation.saleor_api_url)


async def way_in(installations: InstallationRepository, saleor_api_url: str, path: str) -> str | None:
    """Return where the Dashboard of that store shows our page at ``path``; None when that is not known."""
    if not is_api_url(saleor_api_url) or not _PAGE.fullmatch(path):
        return None
    installation = await installations.find(saleor_api_url)
    dashboard = None if installation is None else dashboard_of(installation)
    if installation is None or dashboard is None or installation.app_id is None:
        return None
    return app_page_in(dashboard, installation.app_id, path)
