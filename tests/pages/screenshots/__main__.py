"""``python -m tests.pages.screenshots [demo|dashboard|health|pages]``: all pictures, or only some."""

import asyncio
import sys

from integration_base_tests.browsing import chromium
from tests.pages.screenshots import of_every_page, of_the_dashboard, of_the_demo, of_the_health_check
from tests.pages.screenshots.photographer import Photographer

ALBUMS = {
    "demo": of_the_demo.photograph,
    "dashboard": of_the_dashboard.photograph,
    "health": of_the_health_check.photograph,
    "pages": of_every_page.photograph,
}


async def main(wanted: list[str]) -> None:
    """Take the pictures of these albums; of all, when none is named."""
    async with chromium() as browser:
        for name in wanted or ALBUMS:
            await ALBUMS[name](Photographer(browser))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
