"""The public names of the client and its sandbox are for ever: what programs call changes only on purpose."""

import gateway_client
from tests.gateway.public_names import LISTING, listing, members_of


def test_public_names_and_their_signatures_are_the_listed_ones() -> None:
    message = "programs depend on these names: note the change in the package's CHANGELOG.md, and run the module"
    assert listing() == LISTING.read_text(encoding="utf-8"), f"{message} tests.gateway.public_names"


def test_the_listing_has_inherited_fields_methods_groups_and_values() -> None:
    listed = LISTING.read_text(encoding="utf-8").splitlines()
    assert any(
        line.startswith("    reports.start(self, request: RegisterRequest, *, timeout: float)") for line in listed
    )
    assert "    order_id: OrderId" in listed[listed.index("class Refund(Secondary)") :]
    assert "SUCCESS = 'success'" in members_of(gateway_client.Status)
    assert "DIALECTS: interface, public" in listed
