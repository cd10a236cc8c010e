"""App problems, which an app reports to Saleor, and which the Dashboard shows beside the app (B.2.8).

Saleor 3.22.36 and newer have them. Saleor counts repeated reports of the same key within the aggregation period, keeps
at most 100 problems of an app, and shows each until it is dismissed: by staff, or by the app when it is solved.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from saleor_app_sdk.answers import read_mutation_result
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.versions import OLDEST_SUPPORTED, WITH_APP_PROBLEMS, parse_release

MAX_PROBLEMS = 100
"""How many problems Saleor keeps of an app, and how many can be dismissed at once. Beyond it the oldest is dropped."""

_MESSAGE_LENGTH = 2048
_AGGREGATION_MINUTES = 24 * 60


def _truncate(text: object) -> object:
    return text[:_MESSAGE_LENGTH] if isinstance(text, str) else text


class AppProblem(BaseModel):
    """One problem, identified by its ``key`` (by convention ``<what>:<of which configuration>``) until it is dismissed.

    ``critical``: Saleor shows it as critical. A repeated report within a day is counted, not shown twice.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Annotated[str, Field(min_length=3, max_length=128)]
    message: Annotated[str, Field(min_length=3), BeforeValidator(_truncate)]
    critical: bool = False

    def graphql_input(self) -> dict[str, Any]:
        """Return Saleor's ``AppProblemCreateInput``."""
        fields = {"key": self.key, "message": self.message, "aggregationPeriod": _AGGREGATION_MINUTES}
        return {**fields, "criticalThreshold": 1} if self.critical else fields


def supports_problems(installation: Installation) -> bool:
    """Return True when that Saleor is new enough for app problems, as far as its version is known.

    An installation reports only the minor version; the release arrives with the first webhook. A Saleor that is only
    known as 3.22 counts as new enough: an earlier release refuses the report, without further consequence.
    """
    major, minor, patch = parse_release(installation.schema_version) or (*OLDEST_SUPPORTED, 0)
    return (major, minor, WITH_APP_PROBLEMS[2] if patch is None else patch) >= WITH_APP_PROBLEMS


async def report_problem(client: SaleorClient, installation: Installation, problem: AppProblem) -> None:
    """Make Saleor show a problem.

    Raises what ``SaleorClient`` raises; ``SaleorRefusedError`` also from the releases of 3.22 that do not know app
    problems yet.
    """
    await _mutate(client, installation, "app_problem_create", "appProblemCreate", problem.graphql_input())


async def dismiss_problems(client: SaleorClient, installation: Installation, keys: Sequence[str]) -> None:
    """Dismiss the problems with these keys, at most ``MAX_PROBLEMS``. Raises as ``report_problem``."""
    await _mutate(client, installation, "app_problem_dismiss", "appProblemDismiss", {"byApp": {"keys": list(keys)}})


async def _mutate(
    client: SaleorClient, installation: Installation, operation: str, field: str, variables: Mapping[str, Any]
) -> None:
    read_mutation_result((await client.execute(installation, operation, {"input": variables})).get(field))
