"""``storefront-kit``: the HTML with which a storefront's page loads the kit from this app."""

from app.commands.terminal import print_line
from app.settings import read_settings
from app.web.static import kit_tag


def show_tag() -> None:
    """Show the line of HTML with which a storefront's page loads the payment button from this app."""
    print_line(kit_tag(read_settings().base_url))
