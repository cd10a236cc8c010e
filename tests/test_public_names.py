"""The public names of the packages are for ever: what programs call changes only on purpose."""

from pathlib import Path

import pytest

import gateway_client
from tests.public_names import LISTINGS, listing, members_of


@pytest.mark.parametrize("file", LISTINGS, ids=lambda file: file.parts[-3])
def test_public_names_and_their_signatures_are_the_listed_ones(file: Path) -> None:
    message = "programs depend on these names: note the change in the package's CHANGELOG.md, and run the module"
    assert listing(*LISTINGS[file]) == file.read_text(encoding="utf-8"), f"{message} tests.public_names"


def test_the_listing_has_inherited_fields_methods_groups_and_values() -> None:
    listed = listing(gateway_client, gateway_client.sandbox).splitlines()
    assert any(
        line.startswith("    reports.start(self, request: RegisterRequest, *, timeout: float)") for line in listed
    )
    assert "    order_id: OrderId" in listed[listed.index("class Refund(Secondary)") :]
    assert "SUCCESS = 'success'" in members_of(gateway_client.Status)
    assert "DIALECTS: interface, public" in listed
