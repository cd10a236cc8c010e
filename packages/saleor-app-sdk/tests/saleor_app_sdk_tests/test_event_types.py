"""The SDK's list of events against Saleor's schemas, and the check of a manifest that authors of apps have too."""

from typing import Any

import pytest
from graphql import GraphQLEnumType, GraphQLInterfaceType

from integration_base_tests.clock import Clock
from saleor_app_sdk.event_types import WEBHOOK_EVENTS, find_webhook_event
from saleor_app_sdk.testing import find_webhook_errors
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.fake_saleor import InMemoryStore
from saleor_app_sdk_tests.schemas import schema, schema_file
from saleor_app_sdk_tests.served_app import make_app

VERSIONS: tuple[Version, ...] = ((3, 21), (3, 22), (3, 23), (3, 24))
WITHOUT_SUBSCRIPTION = {"ANY_EVENTS", "NOTIFY_USER", "OBSERVABILITY"}


def names_of(version: Version, enum: str) -> set[str]:
    found = schema(version).type_map[enum]
    assert isinstance(found, GraphQLEnumType)
    return set(found.values)


def types_of(version: Version) -> set[str]:
    interface = schema(version).type_map["Event"]
    assert isinstance(interface, GraphQLInterfaceType)
    return {possible.name for possible in schema(version).get_possible_types(interface)}


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("kind", ["Sync", "Async"])
def test_every_event_of_saleor_is_listed_and_no_other(version: Version, kind: str) -> None:
    in_saleor = names_of(version, f"WebhookEventType{kind}Enum") - WITHOUT_SUBSCRIPTION
    of_kind = {name: event for name, event in WEBHOOK_EVENTS.items() if event.is_asynchronous is (kind == "Async")}
    assert in_saleor <= set(of_kind)
    sent = {name for name, event in of_kind.items() if event.is_sent_by(version)}
    types = types_of(version)
    assert sent == {name for name in in_saleor if of_kind[name].typename in types}


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_every_type_of_event_is_listed(version: Version) -> None:
    assert types_of(version) == {event.typename for event in WEBHOOK_EVENTS.values() if event.is_sent_by(version)}


def test_event_that_no_saleor_has_is_refused() -> None:
    with pytest.raises(ValueError, match="ORDER_EATEN is no event"):
        find_webhook_event("ORDER_EATEN")


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_manifest_that_saleor_accepts_has_no_errors(version: Version, store: InMemoryStore, clock: Clock) -> None:
    manifest = make_app(store, None, clock).manifest(version)  # type: ignore[arg-type] # nothing is sent
    assert find_webhook_errors(manifest, schema_file(version)) == []


@pytest.mark.parametrize(
    ("webhook", "expected"),
    [
        ({"asyncEvents": ["ORDER_CREATED"], "query": "subscription { event { ... on OrderCreated { version } } }"}, []),
        (
            {
                "syncEvents": ["CHECKOUT_CALCULATE_TAXES"],
                "query": "subscription { event { ... on CalculateTaxes { version } } }",
            },
            [],
        ),
        (
            {"syncEvents": ["PAYMENT_VOID"], "query": "subscription { event { ... on PaymentVoidEvent { version } } }"},
            [],
        ),
        (
            {
                "asyncEvents": ["ORDER_CREATED"],
                "query": "subscription { event { ... on OrderCreated { ordr { id } } } }",
            },
            ["Mine: Cannot query field 'ordr' on type 'OrderCreated'. Did you mean 'order'?"],
        ),
        (
            {"asyncEvents": ["ORDER_CREATED"], "query": "subscription { event { ... on OrderPaid { version } } }"},
            ["Mine: ORDER_CREATED selects from OrderPaid, which is not its type"],
        ),
        (
            {"syncEvents": ["ORDER_CREATED"], "query": "subscription { event { version } }"},
            ["Mine: ORDER_CREATED is not in WebhookEventTypeSyncEnum"],
        ),
        ({"asyncEvents": ["ORDER_CREATED"], "query": "{ shop { name } }"}, None),
    ],
)
def test_error_of_a_webhook_is_found(webhook: dict[str, Any], expected: list[str] | None) -> None:
    found = find_webhook_errors({"webhooks": [{"name": "Mine", **webhook}]}, schema_file((3, 24)))
    if expected is None:
        assert [error.partition(" (")[0] for error in found] == ["Mine: the query is no subscription"]
    else:
        assert found == expected
