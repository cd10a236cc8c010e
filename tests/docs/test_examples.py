"""What the documentation shows can be copied: it fits Saleor's schemas, and the app takes it."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse, validate
from graphql.execution import get_variable_values

from app.rules.requests.storefront import StorefrontData, allowed_return_url, parse_data
from integration_base_tests.pages import STOREFRONT, Block, blocks
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.schemas import VERSIONS, schema

_TEMPLATE = re.compile(r"const (?P<name>\w+) =\s*(?P<graphql>/\* GraphQL \*/)?\s*`(?P<text>[^`]*)`")
GRAPHQL = [(str(block), block.code) for block in blocks("graphql")]
JSON = blocks("json")
SHOWN = blocks("graphql", "json", among=[STOREFRONT])


def documents_in_typescript() -> list[tuple[str, str]]:
    """The documents in the TypeScript examples, with the parts that they share put in."""
    found = []
    for block in blocks("ts"):
        templates = list(_TEMPLATE.finditer(block.code))
        parts = {template["name"]: template["text"] for template in templates}
        for template in templates:
            if template["graphql"]:
                text = template["text"]
                for name, part in parts.items():
                    text = text.replace(f"${{{name}}}", part)
                found.append((f"{block}:{template['name']}", text))
    return found


def pairs() -> list[tuple[Block, Block]]:
    """Each document with the variables that stand after it."""
    return [
        (before, after)
        for before, after in pairwise(SHOWN)
        if before.language == "graphql" and after.role == "variables"
    ]


def sent() -> list[tuple[str, dict[str, Any]]]:
    """Every ``data`` that the documentation passes to the app."""
    found = [(str(block), json.loads(block.code)) for block in JSON if block.role == "data"]
    for document, block in pairs():
        variables = json.loads(block.code)
        if "transactionInitialize" in document.code:
            found.append((str(block), variables["gateway"]["data"]))
        if "transactionProcess" in document.code:
            found.append((str(block), variables["data"]))
    return found


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(("where", "document"), GRAPHQL + documents_in_typescript())
def test_graphql_is_valid_in_every_saleor(where: str, document: str, version: Version) -> None:
    assert validate(schema(version), parse(document)) == []


def test_the_mutations_of_the_whole_way_are_shown_in_both_forms() -> None:
    mutations = {"transactionInitialize", "transactionProcess", "checkoutComplete"}
    shown = {name for _, text in GRAPHQL for name in mutations if name in text}
    in_typescript = {name for _, text in documents_in_typescript() for name in mutations if name in text}
    assert shown == in_typescript == mutations


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(("document", "variables"), pairs(), ids=str)
def test_variables_fit_their_document(document: Block, variables: Block, version: Version) -> None:
    operation = parse(document.code).definitions[0]
    assert isinstance(operation, OperationDefinitionNode)
    given = json.loads(variables.code)
    declared = operation.variable_definitions or ()
    assert not isinstance(get_variable_values(schema(version), declared, given), list), "they do not fit"
    assert set(given) <= {variable.variable.name.value for variable in declared}


def test_every_document_with_variables_has_an_example_of_them() -> None:
    documents = [block for block in SHOWN if block.language == "graphql"]
    assert [document for document, _ in pairs()] == documents


@pytest.mark.parametrize("block", JSON, ids=str)
def test_json_is_json(block: Block) -> None:
    json.loads(block.code)


@pytest.mark.parametrize(("where", "data"), sent())
def test_the_app_takes_the_data_that_is_shown(where: str, data: dict[str, Any]) -> None:
    read = parse_data(data)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == data, "it has a field that is ignored"
    assert allowed_return_url(read.return_url, ["https://shop.example.com"]) == data.get("returnUrl")


def test_one_example_shows_every_field_that_there_is() -> None:
    (everything,) = [json.loads(block.code) for block in JSON if block.role == "data"]
    customer = {field.alias for field in type(StorefrontData().customer).model_fields.values()}
    assert set(everything) == {field.alias for field in StorefrontData.model_fields.values()}
    assert set(everything["customer"]) == customer
