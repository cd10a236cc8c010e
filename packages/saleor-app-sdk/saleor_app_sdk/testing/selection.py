"""Build a webhook's body: the part of an event that a subscription selects.

A webhook's body is the content of ``event { ... }`` at top level. The document is not executed against a schema; its
selection set is applied to a full payload (``saleor_app_sdk.testing.payload``): an app gets only the fields it selects.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    parse,
    value_from_ast_untyped,
)

# Interfaces and unions that payloads belong to although their ``__typename`` is another.
_ABSTRACT = frozenset(
    {"Event", "Node", "ObjectWithMetadata", "OrderOrCheckout", "PaymentMethodDetails", "UserOrApp", "IssuingPrincipal"}
)
_METAFIELDS = {
    "metafield": "metadata",
    "privateMetafield": "privateMetadata",
    "metafields": "metadata",
    "privateMetafields": "privateMetadata",
}


class FieldFailedError(Exception):
    """A placeholder for a value in a payload: a field that Saleor cannot resolve."""


@dataclass(frozen=True)
class NeedsPermission:
    """A wrapper for a value in a payload that only apps with the permission may read."""

    permission: str
    value: Any


@dataclass
class Selected:
    """The body of a webhook.

    ``unplayed`` lists selected fields that this Saleor does not support: they are null in the body. Here a test can see
    that it relies on such a field.
    """

    body: dict[str, Any]
    unplayed: list[str] = field(default_factory=list)


def select(query: str, event: Mapping[str, Any], permissions: Collection[str] = ()) -> Selected:
    """Return what ``subscription { event { ... } }`` selects of ``event``, in the order of the document.

    ``permissions`` are those of the receiving app.
    """
    document = _parse_query(query)
    root = _field(_operation(document).selection_set, "event")
    selection = _Selection(_fragments(document), permissions)
    body = selection.select(root.selection_set, event, ("event",))
    if not isinstance(body, dict):
        msg = "an event is an object"
        raise TypeError(msg)
    if selection.errors:
        body["errors"] = selection.errors
    return Selected(body, selection.unplayed)


def event_types(query: str) -> set[str]:
    """Return the event types that a subscription names: its ``... on X`` inside ``event``, but for ``Event`` itself."""
    document = _parse_query(query)
    root = _field(_operation(document).selection_set, "event")
    named = {node.type_condition.name.value for node in _inline_fragments(root.selection_set, _fragments(document))}
    return named - _ABSTRACT


@lru_cache(maxsize=64)  # an app's six subscriptions are used repeatedly
def _parse_query(query: str) -> DocumentNode:
    return parse(query)


def _operation(document: DocumentNode) -> OperationDefinitionNode:
    [operation] = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    return operation


def _fragments(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    return {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}


def _field(selections: SelectionSetNode | None, name: str) -> FieldNode:
    nodes = selections.selections if selections else ()
    [found] = [node for node in nodes if isinstance(node, FieldNode) and node.name.value == name]
    return found


def _inline_fragments(
    selections: SelectionSetNode | None, fragments: Mapping[str, FragmentDefinitionNode]
) -> Iterator[Any]:
    for node in selections.selections if selections else ():
        if isinstance(node, InlineFragmentNode) and node.type_condition:
            yield node
        elif isinstance(node, FragmentSpreadNode):
            yield fragments[node.name.value]
            yield from _inline_fragments(fragments[node.name.value].selection_set, fragments)


def _merged_selections(node: FieldNode, duplicates: Sequence[FieldNode]) -> SelectionSetNode | None:
    """Return the merged selections of a field that is selected several times (GraphQL, 6.3.2: field collection)."""
    if not duplicates or node.selection_set is None:
        return node.selection_set
    sets = [field_node.selection_set for field_node in (node, *duplicates) if field_node.selection_set is not None]
    return SelectionSetNode(selections=tuple(one for selection_set in sets for one in selection_set.selections))


class _Selection:
    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode], permissions: Collection[str]) -> None:
        self._fragments = fragments
        self._permissions = permissions
        self.errors: list[dict[str, Any]] = []
        self.unplayed: list[str] = []

    def select(self, selections: SelectionSetNode | None, value: Any, path: tuple[str | int, ...]) -> Any:
        """Return the selected part of a value; raise FieldFailedError if a part of it cannot be resolved."""
        if isinstance(value, FieldFailedError):
            self._fail(value, path)
        if isinstance(value, list):
            return [self.select(selections, item, (*path, index)) for index, item in enumerate(value)]
        if selections is None or not isinstance(value, Mapping):
            return value
        result: dict[str, Any] = {}
        selected: dict[str, list[FieldNode]] = {}
        for node in self._nodes(selections.selections, value):
            selected.setdefault((node.alias or node.name).value, []).append(node)
        for key, [node, *duplicates] in selected.items():
            name, here = node.name.value, (*path, key)
            try:
                result[key] = self.select(_merged_selections(node, duplicates), self._value(node, value, here), here)
            except FieldFailedError:
                # Only these may be null above the fields that can fail (Saleor contract, A.5).
                if name not in {"transaction", "order", "grantedRefund"}:
                    raise
                result[key] = None
        return result

    def _check_permission(self, value: Any, path: tuple[str | int, ...]) -> Any:
        if not isinstance(value, NeedsPermission):
            return value
        if value.permission not in self._permissions:
            message = f"To access this path, you need one of the following permissions: {value.permission}"
            self._fail(FieldFailedError(message), path, "PermissionDenied")
        return value.value

    def _fail(self, failure: FieldFailedError, path: tuple[str | int, ...], code: str = "GraphQLError") -> None:
        extensions = {"exception": {"code": code}}
        self.errors.append({"message": str(failure), "path": list(path), "extensions": extensions})
        raise failure

    def _nodes(self, nodes: tuple[SelectionNode, ...], value: Mapping[str, Any]) -> Iterator[FieldNode]:
        for node in nodes:
            if isinstance(node, FieldNode):
                yield node
            else:
                condition, selections = self._fragment(node)
                if condition in _ABSTRACT or condition == value.get("__typename", condition):
                    yield from self._nodes(selections.selections, value)

    def _fragment(self, node: SelectionNode) -> tuple[str | None, SelectionSetNode]:
        if isinstance(node, FragmentSpreadNode):
            fragment = self._fragments[node.name.value]
            return fragment.type_condition.name.value, fragment.selection_set
        if isinstance(node, InlineFragmentNode):
            return (node.type_condition.name.value if node.type_condition else None), node.selection_set
        msg = f"a selection of kind {node.kind}"
        raise TypeError(msg)

    def _value(self, node: FieldNode, parent: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
        name = node.name.value
        if name in parent:
            return self._check_permission(parent[name], path)
        if name in _METAFIELDS and _METAFIELDS[name] in parent:
            pairs = {item["key"]: item["value"] for item in parent[_METAFIELDS[name]]}
            arguments = {
                argument.name.value: value_from_ast_untyped(argument.value) for argument in node.arguments or ()
            }
            if "key" in arguments:
                return pairs.get(arguments["key"])
            wanted = arguments.get("keys")
            return {key: value for key, value in pairs.items() if wanted is None or key in wanted}
        self.unplayed.append(".".join(str(part) for part in path if not isinstance(part, int)))
        return None
