"""Repeats the field of a GraphQL document under aliases, to send several calls of one operation in one request.

Saleor executes the mutations of one document one after the other, and returns a separate result for each. A request
costs both sides far more than one field in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphql import (
    FieldNode,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    Visitor,
    parse,
    print_ast,
    visit,
)


def alias(number: int) -> str:
    """Return the alias of that repetition in the response."""
    return f"_{number}"


def repeat_field(text: str, times: int) -> str:
    """Return the document with its only field repeated ``times`` times, each with variables of its own.

    Raises ValueError for a document of several operations or fields.
    """
    document = parse(text, no_location=True)
    operations = [definition for definition in document.definitions if isinstance(definition, OperationDefinitionNode)]
    if len(operations) != 1 or len(operations[0].selection_set.selections) != 1:
        raise ValueError("only a document of one field can be repeated")
    [operation] = operations
    repetitions = [_rename_operation(operation, number) for number in range(times)]
    whole = replace(
        operation,
        variable_definitions=tuple(one for repetition in repetitions for one in repetition.variable_definitions or ()),
        selection_set=SelectionSetNode(
            selections=tuple(one for repetition in repetitions for one in repetition.selection_set.selections)
        ),
    )
    definitions = (whole if definition is operation else definition for definition in document.definitions)
    return print_ast(replace(document, definitions=tuple(definitions)))


def merge_variables(repetitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the variables of a document with a repeated field, from those of each repetition."""
    return {
        f"{name}{alias(number)}": value
        for number, variables in enumerate(repetitions)
        for name, value in variables.items()
    }


def _rename_operation(operation: OperationDefinitionNode, number: int) -> OperationDefinitionNode:
    """Return the operation with the variables and the field named for that repetition."""

    class Rename(Visitor):
        def enter_variable(self, node: VariableNode, *_: object) -> VariableNode:
            return replace(node, name=NameNode(value=f"{node.name.value}{alias(number)}"))

    renamed: OperationDefinitionNode = visit(operation, Rename())
    [field] = renamed.selection_set.selections
    assert isinstance(field, FieldNode)  # noqa: S101 - no document of ours begins with a fragment
    named = replace(field, alias=NameNode(value=alias(number)))
    return replace(renamed, selection_set=SelectionSetNode(selections=(named,)))
