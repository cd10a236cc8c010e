"""Every GraphQL document of the SDK against the schemas of every Saleor that it supports."""

from pathlib import Path

import pytest

from integration_base_tests.places import SALEOR_APP_SDK
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.schemas import assert_valid, document_files, documents, id_of

OPERATIONS = SALEOR_APP_SDK / "operations"


@pytest.mark.parametrize(("folder", "name", "version"), list(documents(OPERATIONS)), ids=id_of)
def test_what_a_saleor_is_given_is_valid_in_its_schema(folder: Path, name: str, version: Version) -> None:
    assert_valid(Documents(folder).text(name, version), version)


def test_no_document_lies_where_nobody_looks_for_it() -> None:
    assert document_files(OPERATIONS) == set(SALEOR_APP_SDK.rglob("*.graphql"))
