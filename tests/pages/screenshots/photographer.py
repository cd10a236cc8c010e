"""Opens pages as a shopper or as staff, and takes pictures of them for the documentation."""

import base64
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from tests.pages.sight import choosing

HERE = Path(__file__).parent.parent.parent.parent / "docs" / "images"
PHONE: ViewportSize = {"width": 440, "height": 780}
DESK: ViewportSize = {"width": 800, "height": 640}
SHARPNESS = 1.5


class Photographer:
    """Each page has a window of its own. Pictures that have a name are kept in ``docs/images``."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def open(
        self,
        address: str,
        viewport: ViewportSize = PHONE,
        *,
        dark: bool = False,
        language: str = "en",
        script: bool = True,
        sharpness: float = SHARPNESS,
        touch: bool = False,
    ) -> Page:
        """Open an address in a window of its own; ``touch``: with a finger instead of a mouse."""
        context = await self._browser.new_context(
            viewport=viewport,
            device_scale_factor=sharpness,
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            has_touch=touch,
            is_mobile=touch,
            locale={"en": "en-GB", "uk": "uk-UA"}[language],
            timezone_id="Europe/Kyiv",
        )
        await context.add_init_script(choosing(theme="dark" if dark else "light", locale=language))
        page = await context.new_page()
        await page.goto(address, wait_until="load")
        return page

    async def open_frame(
        self, address: str, viewport: ViewportSize, *, dark: bool = False, language: str = "en", touch: bool = False
    ) -> Page:
        """Open a page of the Dashboard with one of the app's in it, which shows what it has to show."""
        page = await self.open(address, viewport, dark=dark, language=language, sharpness=1, touch=touch)
        await self.open_again(page, page.frame_locator("iframe").locator("#content:not([aria-busy]) h1"))
        return page

    async def open_again(self, page: Page, shown: Locator) -> None:
        """Open a page once more, where ``shown`` shows the app's: it has its font from the second time on."""
        await expect(shown).to_be_visible()
        await page.frames[-1].evaluate("document.fonts.ready.then(() => null)")
        await page.goto(page.url, wait_until="load")
        await expect(shown).to_be_visible()

    async def take(self, page: Page, name: str | None = None) -> bytes:
        """Photograph what the window shows, save it if it has a name, and close the window."""
        picture = await page.screenshot(path=HERE / name if name else None)
        await page.context.close()
        return picture

    async def sheet(self, html: str, *, width: int, most_bytes: int) -> bytes:
        """Return a page that is nowhere as a WebP image, as good as it can be with so many bytes."""
        page = await self._browser.new_page(viewport={"width": width, "height": 100}, device_scale_factor=1)
        await page.set_content(html)
        height: int = await page.evaluate("document.body.scrollHeight")
        await page.set_viewport_size({"width": width, "height": height})
        devtools = await page.context.new_cdp_session(page)
        picture = b""
        for quality in range(80, 10, -10):
            shot = await devtools.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
            picture = base64.b64decode(shot["data"])
            if len(picture) <= most_bytes:
                break
        await page.close()
        return picture

    async def take_all_of(self, html: str, name: str, *, width: int, sharpness: float, height: int = 900) -> None:
        """Photograph a page that is nowhere, as long as it is, and at least as high as that."""
        context = await self._browser.new_context(
            viewport={"width": width, "height": height}, device_scale_factor=sharpness
        )
        page = await context.new_page()
        await page.set_content(html)
        await page.screenshot(path=HERE / name, full_page=True)
        await context.close()
