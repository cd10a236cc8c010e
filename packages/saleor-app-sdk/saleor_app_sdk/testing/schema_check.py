"""Checks what an app's manifest subscribes to against Saleor's own schema, which every release of Saleor publishes.

``saleor/graphql/schema.graphql`` of Saleor's repository, at the tag of the release, is such a file.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLSchema,
    GraphQLSyntaxError,
    build_schema,
    parse,
    validate,
)

from saleor_app_sdk.testing.selection import event_types

_ENUMS = {"asyncEvents": "WebhookEventTypeAsyncEnum", "syncEvents": "WebhookEventTypeSyncEnum"}


def find_webhook_errors(manifest: Mapping[str, Any], schema: Path) -> list[str]:
    """Return what a Saleor with that schema would not accept of the manifest's webhooks, in sentences; [] if nothing.

    Checked are the events' names, every field and type of the subscriptions, and that each subscription selects from
    the type of its own event: Saleor accepts any type there, and then sends nothing, or an empty body.
    """
    loaded = _load(schema)
    return [error for webhook in manifest.get("webhooks") or () for error in _find_errors(webhook, loaded)]


@lru_cache(maxsize=8)  # Saleor's schema has 40,000 lines
def _load(path: Path) -> GraphQLSchema:
    return build_schema(path.read_text(encoding="utf-8"), assume_valid=True, no_location=True)


def _find_errors(webhook: Mapping[str, Any], schema: GraphQLSchema) -> Iterator[str]:
    title, query = str(webhook.get("name")), str(webhook.get("query", ""))
    try:
        document, selected = parse(query), event_types(query)
    except (GraphQLSyntaxError, ValueError) as exc:
        yield f"{title}: the query is no subscription ({exc})"
        return
    for error in validate(schema, document):
        yield f"{title}: {error.message}"
    events = [(name, _ENUMS[kind]) for kind in _ENUMS for name in webhook.get(kind) or ()]
    for name, enum_name in events:
        enum = schema.type_map[enum_name]
        if not isinstance(enum, GraphQLEnumType) or name not in enum.values:
            yield f"{title}: {name} is not in {enum_name}"
        elif selected and not any(_is_type_of(typename, name, schema) for typename in selected):
            yield f"{title}: {name} selects from {', '.join(sorted(selected))}, which is not its type"


def _is_type_of(typename: str, event: str, schema: GraphQLSchema) -> bool:
    """Return True if a subscription gets ``event`` as that type: OrderCreated, PaymentVoidEvent, CalculateTaxes."""
    interface = schema.type_map["Event"]
    if not isinstance(interface, GraphQLInterfaceType):
        return False
    if typename not in {possible.name for possible in schema.get_possible_types(interface)}:
        return False
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", typename).upper()
    return event in {name, name.removesuffix("_EVENT")} or (name == "CALCULATE_TAXES" and event.endswith(f"_{name}"))
