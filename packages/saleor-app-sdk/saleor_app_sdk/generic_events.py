"""Events without a class of their own: the author names the event, its subscription, and how its body is read.

The body is read as whatever the handler's first parameter is annotated with: a pydantic model of the selected fields,
or ``Mapping[str, Any]``, in which numbers are ``int`` and ``Decimal``, exactly as Saleor wrote them.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, get_origin

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    Visitor,
    parse,
    print_ast,
    visit,
)
from pydantic import BaseModel, create_model, model_validator

from saleor_app_sdk.event_types import WebhookEvent
from saleor_app_sdk.events import Event

# What the SDK itself reads of every event, all of them fields of Saleor's interface ``Event``.
_ENVELOPE = "{ __typename issuedAt version recipient { id identifier } }"

P = ParamSpec("P")
R = TypeVar("R")


class GenericEvent(Event):
    """An event whose body is read by the author's own type. ``payload`` is the result."""

    payload: Any

    @model_validator(mode="before")
    @classmethod
    def _keep_body(cls, body: Any) -> Any:
        return {**body, "payload": body} if isinstance(body, Mapping) else body


def build_generic_event(event: WebhookEvent, body_type: Any) -> type[GenericEvent] | None:
    """Return the class of an event whose body is read as ``body_type``; None if that is no model and no mapping."""
    is_model = isinstance(body_type, type) and issubclass(body_type, BaseModel) and not issubclass(body_type, Event)
    if not is_model and (get_origin(body_type) or body_type) not in {dict, Mapping}:
        return None
    built = create_model(event.typename, __base__=GenericEvent, payload=(body_type, ...))
    built.event_type = event.name
    built.is_asynchronous = event.is_asynchronous
    return built


def pass_payload(
    handler: Callable[Concatenate[Any, P], Awaitable[R]],
) -> Callable[Concatenate[GenericEvent, P], Awaitable[R]]:
    """Return a handler of the whole event that passes its payload on to the author's handler."""

    @wraps(handler)
    async def handle(event: GenericEvent, /, *others: P.args, **named: P.kwargs) -> R:
        return await handler(event.payload, *others, **named)

    return handle


def is_query(text: str) -> bool:
    """Return True for the text of a document, False for the name of one."""
    return "{" in text


def complete_subscription(query: str) -> str:
    """Return a subscription that also selects what the SDK reads of every event: its type, age, version, recipient.

    Raises ValueError if it is not ``subscription { event { ... } }``.
    """
    try:
        document = parse(query, no_location=True)
    except GraphQLError as exc:
        msg = f"the subscription cannot be parsed: {exc.message}"
        raise ValueError(msg) from exc
    event = _event_field(document)
    if event is None or event.selection_set is None:
        msg = "the query must be one subscription { event { ... } }"
        raise ValueError(msg)
    envelope = parse(_ENVELOPE, no_location=True).definitions[0]
    assert isinstance(envelope, OperationDefinitionNode)  # noqa: S101 - the constant above is one
    selections = (*envelope.selection_set.selections, *event.selection_set.selections)
    completed = replace(event, selection_set=SelectionSetNode(selections=selections))

    class Completion(Visitor):
        def leave_field(self, node: FieldNode, *_: object) -> FieldNode | None:
            return completed if node is event else None

    return print_ast(visit(document, Completion()))


def _event_field(document: DocumentNode) -> FieldNode | None:
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    if len(operations) != 1 or operations[0].operation is not OperationType.SUBSCRIPTION:
        return None
    fields = [node for node in operations[0].selection_set.selections if isinstance(node, FieldNode)]
    return fields[0] if len(fields) == 1 and fields[0].name.value == "event" else None
