"""``storefront-kit``: what a storefront puts into its page to load the kit from this app."""

from app.commands.terminal import say
from app.settings import read_settings
from app.static import kit_tag


def show_tag() -> None:
    """Show the line of HTML with which a storefront's page loads the payment button from this app."""
    say(kit_tag(read_settings().base_url))
