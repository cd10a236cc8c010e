"""Compares the model of an event's body with what its subscription selects, when the webhook is defined.

A field that is not selected is never in a body. One without a default would make every delivery fail; one with a
default would keep it for ever, and nobody would notice. Where documents differ by Saleor's version, a field with a
default need only be selected in one of them.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args, get_origin

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
)
from pydantic import AliasChoices, AliasPath, BaseModel, RootModel
from pydantic.fields import FieldInfo

_Fragments = Mapping[str, SelectionSetNode]


@lru_cache(maxsize=64)  # parsing takes a while, and tests open the same app a thousand times
def check_selection(event_type: str, body_type: Hashable, documents: tuple[str, ...]) -> None:
    """Raise TypeError if a field of the models in ``body_type`` is selected by none of an event's ``documents``.

    A field that must be there has to be selected by all of them.
    """
    missing = [dict(_find_missing_in_document(body_type, parse(text, no_location=True))) for text in documents]
    never = set.intersection(*(set(fields) for fields in missing))
    required = {path for fields in missing for path, is_required in fields.items() if is_required}
    if unselected := sorted(never | required):
        msg = f"the subscription of {event_type} does not select what its handler reads: {', '.join(unselected)}"
        raise TypeError(msg)


def _find_missing_in_document(body_type: Any, document: DocumentNode) -> Iterator[tuple[str, bool]]:
    fragments = {
        node.name.value: node.selection_set for node in document.definitions if isinstance(node, FragmentDefinitionNode)
    }
    operations = [node.selection_set for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    event = _select(operations, fragments).get("event", [])
    yield from _find_missing_in_value(body_type, event, fragments, "event")


def _find_missing_in_value(
    annotation: Any, selections: Sequence[SelectionSetNode], fragments: _Fragments, place: str
) -> Sequence[tuple[str, bool]]:
    """Return what is missing in a value, which may be of one of several models: of the one that lacks least."""
    models = _models_in(annotation)
    return min((list(_find_missing(model, selections, fragments, place)) for model in models), key=len, default=[])


def _find_missing(
    model: type[BaseModel], selections: Sequence[SelectionSetNode], fragments: _Fragments, place: str
) -> Iterator[tuple[str, bool]]:
    """Yield the path of each field that is not selected, and whether the model cannot do without it."""
    selected = _select(selections, fragments)
    is_complete = _takes_body_as_it_is(model)
    for name, field in model.model_fields.items():
        paths = _paths_of(name, field, model)
        present = [path for path in paths if _is_selected(path, selections, fragments)]
        if not present and is_complete and (field.is_required() or not _is_of_sdk(model)):
            yield f"{place}.{'.'.join(paths[0])}", field.is_required()
        for key in {path[0] for path in present if len(path) == 1}:
            if selected[key]:
                yield from _find_missing_in_value(field.annotation, selected[key], fragments, f"{place}.{key}")


def _select(selections: Sequence[SelectionSetNode], fragments: _Fragments) -> dict[str, list[SelectionSetNode]]:
    """Return the keys of an object, each with the selections of its value, whatever the type that they depend on."""
    found: dict[str, list[SelectionSetNode]] = {}
    for node in (node for selection in selections for node in selection.selections):
        match node:
            case FieldNode():
                nested = found.setdefault(node.alias.value if node.alias else node.name.value, [])
                nested.extend([node.selection_set] if node.selection_set else [])
            case FragmentSpreadNode() if node.name.value in fragments:  # Saleor refuses the others
                _merge(found, _select([fragments[node.name.value]], fragments))
            case InlineFragmentNode():
                _merge(found, _select([node.selection_set], fragments))
    return found


def _merge(found: dict[str, list[SelectionSetNode]], others: Mapping[str, Sequence[SelectionSetNode]]) -> None:
    for key, nested in others.items():
        found.setdefault(key, []).extend(nested)


def _is_selected(path: Sequence[str], selections: Sequence[SelectionSetNode], fragments: _Fragments) -> bool:
    for key in path:
        selected = _select(selections, fragments)
        if key not in selected:
            return False
        selections = selected[key]
    return True


def _paths_of(name: str, field: FieldInfo, model: type[BaseModel]) -> list[tuple[str, ...]]:
    """Return the paths at which pydantic looks for a field; an index of a list is not a part of them."""
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [] if alias is None else [alias]
    paths = [
        tuple(part for part in choice.path if isinstance(part, str)) if isinstance(choice, AliasPath) else (choice,)
        for choice in choices
    ]
    by_name = model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name")
    return [*paths, (name,)] if by_name or not paths else paths


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models of which a value can consist: ``list[Line] | None`` has Line.

    A mapping's keys are the selected ones, so its values are not what the selections are of.
    """
    is_class = isinstance(annotation, type)
    if is_class and issubclass(annotation, RootModel):
        yield from _models_in(annotation.model_fields["root"].annotation)
    elif is_class and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) not in {dict, Mapping}:
        for part in get_args(annotation):
            yield from _models_in(part)


def _takes_body_as_it_is(model: type[BaseModel]) -> bool:
    """Return False if a validator of the model may provide fields that Saleor does not send."""
    validators = model.__pydantic_decorators__.model_validators.values()
    return not any(validator.info.mode in {"before", "wrap"} for validator in validators)


def _is_of_sdk(model: type[BaseModel]) -> bool:
    """Return True for the SDK's own models, whose defaults are there because any subscription may leave them out."""
    return model.__module__.startswith("saleor_app_sdk.")
