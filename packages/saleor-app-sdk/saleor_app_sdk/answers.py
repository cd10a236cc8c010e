"""Checks the shapes of Saleor's answers.

A Saleor is a store's own server, and a proxy may answer in its place. JSON that is not an answer of GraphQL is not
usable, whatever it is: the caller gets ``SaleorUnreachableError``, as from a Saleor that is down.
"""

from collections.abc import Callable, Mapping
from typing import Any

from saleor_app_sdk.errors import SaleorError, SaleorRefusedError, SaleorUnreachableError

# GRAPHQL_ERROR is the one code of a report that is not definite: it is worth retrying.
_PERMANENT_CODES = {"INVALID", "NOT_FOUND", "INCORRECT_DETAILS", "ALREADY_EXISTS", "REQUIRED"}


def is_graphql_response(answer: object) -> bool:
    """Return True for an object with data, with errors, or with both, of which each error names a path or none."""
    if not isinstance(answer, Mapping):
        return False
    data, errors = answer.get("data"), answer.get("errors")
    if data is not None and not isinstance(data, Mapping):
        return False
    if errors is not None and not (isinstance(errors, list) and all(map(_is_graphql_error, errors))):
        return False
    return data is not None or bool(errors)


def _is_graphql_error(error: object) -> bool:
    return isinstance(error, Mapping) and isinstance(error.get("path"), list | None)


def read_object(value: object) -> Mapping[str, Any]:
    """Return an object of an answer. Raises SaleorUnreachableError if it is anything else, or missing."""
    if not isinstance(value, Mapping):
        msg = f"Saleor answered with {type(value).__name__} in place of an object"
        raise SaleorUnreachableError(msg)
    return value


def read_optional_object(value: object) -> Mapping[str, Any]:
    """Return an object of an answer that may be null: then an empty one. Raises as ``read_object``."""
    return {} if value is None else read_object(value)


def read_mutation_result(
    result: object, error_for: Callable[[Mapping[str, Any]], SaleorError] | None = None
) -> Mapping[str, Any]:
    """Return the result of a mutation that Saleor carried out.

    Raises the first of its ``errors``, by default as ``error_for_mutation`` does; SaleorUnreachableError for anything
    that is no result.
    """
    members = read_object(result)
    errors = members.get("errors")
    if not isinstance(errors, list | None):
        msg = "Saleor answered a mutation with unreadable errors"
        raise SaleorUnreachableError(msg)
    for error in errors or ():
        raise (error_for or error_for_mutation)(read_object(error))
    return members


def error_for_mutation(error: Mapping[str, Any]) -> SaleorError:
    """Return the exception for an entry of a mutation's ``errors``: a permanent refusal, or one worth retrying."""
    if str(error.get("code")) in _PERMANENT_CODES:
        return refusal_for_mutation(error)
    return SaleorUnreachableError(f"Saleor could not process the request ({error.get('code')}): {error.get('message')}")


def refusal_for_mutation(error: Mapping[str, Any]) -> SaleorRefusedError:
    """Return the exception for an entry of the ``errors`` of a mutation whose every error is a permanent refusal."""
    field = error.get("field")
    return SaleorRefusedError(str(error.get("code")), None if field is None else str(field), str(error.get("message")))
