"""Every GraphQL document of the app against the schemas of every Saleor that we support."""

from pathlib import Path
from typing import Any

import pytest
from graphql import (
    FieldNode,
    GraphQLNonNull,
    GraphQLObjectType,
    InlineFragmentNode,
    OperationDefinitionNode,
    parse,
    validate,
)

from integration_base_tests.places import REPOSITORY
from saleor_app_sdk.aliases import repeat_field
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.schemas import VERSIONS, assert_valid, document_files, documents, id_of, schema

FOLDERS = (
    REPOSITORY / "manifest" / "subscriptions",
    REPOSITORY / "manifest" / "operations",
)


@pytest.mark.parametrize(("folder", "name", "version"), list(documents(*FOLDERS)), ids=id_of)
def test_what_a_saleor_is_given_is_valid_in_its_schema(folder: Path, name: str, version: Version) -> None:
    assert_valid(Documents(folder).text(name, version), version)


@pytest.mark.parametrize("version", VERSIONS, ids=id_of)
def test_a_plain_refund_is_told_from_a_granted_one(version: Version) -> None:
    """Of what does not exist Saleor makes one whose id says "None", unless something is asked that cannot be null."""
    document = parse(Documents(REPOSITORY / "manifest" / "subscriptions").text("transaction_refund_requested", version))
    [subscription] = [
        definition for definition in document.definitions if isinstance(definition, OperationDefinitionNode)
    ]
    asked = _named(_named(subscription, "event"), "grantedRefund")
    granted = schema(version).type_map["OrderGrantedRefund"]
    assert isinstance(granted, GraphQLObjectType)
    sure = {name for name, field in granted.fields.items() if isinstance(field.type, GraphQLNonNull)} - {"id"}
    assert sure & {
        selection.name.value for selection in asked.selection_set.selections if isinstance(selection, FieldNode)
    }


def _named(node: Any, name: str) -> Any:
    """Return the field of that name in what is selected there, or in what is selected of one type of it."""
    for selection in node.selection_set.selections:
        if isinstance(selection, FieldNode) and selection.name.value == name:
            return selection
        if isinstance(selection, InlineFragmentNode):
            return _named(selection, name)
    raise LookupError(name)


@pytest.mark.parametrize("version", VERSIONS, ids=id_of)
@pytest.mark.parametrize("name", ["transaction_event_report", "order_of_transaction"])
def test_what_is_asked_together_is_valid_too(name: str, version: Version) -> None:
    assert_valid(repeat_field(Documents(REPOSITORY / "manifest" / "operations").text(name, version), 10), version)


def test_no_document_lies_where_nobody_looks_for_it() -> None:
    """The test above sees every .graphql file of the app: as a document, or as a fragment of one."""
    assert document_files(*FOLDERS) == set((REPOSITORY / "manifest").rglob("*.graphql"))


def test_the_report_for_3_21_does_not_know_how_it_was_paid() -> None:
    """One argument that a Saleor does not know, and it refuses the whole report."""
    operations = Documents(REPOSITORY / "manifest" / "operations")
    assert "paymentMethodDetails" not in operations.text("transaction_event_report", (3, 21))
    assert "paymentMethodDetails" in operations.text("transaction_event_report", (3, 22))
    assert "paymentMethodDetails" in operations.text("transaction_event_report", (3, 24))
    newest = parse(operations.text("transaction_event_report", (3, 22)))
    assert validate(schema((3, 21)), newest) != []


def test_refund_asks_for_the_reason_that_staff_chose_where_saleor_has_such() -> None:
    subscriptions = Documents(FOLDERS[0])
    assert "reasonReference" not in subscriptions.text("transaction_refund_requested", (3, 21))
    assert subscriptions.text("transaction_refund_requested", (3, 22)).count("reasonReference") == 2
    older, newer = (subscriptions.text("transaction_refund_requested", version) for version in ((3, 21), (3, 22)))
    added = ["reasonReference {", "title", "}"] * 2
    assert sorted(newer.split()) == sorted([*older.split(), *" ".join(added).split()])


@pytest.mark.parametrize("name", Documents(FOLDERS[0]).names)
def test_every_subscription_tells_what_the_signature_does_not(name: str) -> None:
    """Which event, since when, for whom: without these a recorded request could be played again somewhere else."""
    documents = Documents(FOLDERS[0])
    text = documents.text(name, documents.versions(name)[0])
    for needed in ("__typename", "issuedAt", "recipient"):
        assert needed in text
