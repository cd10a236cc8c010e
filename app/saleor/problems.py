"""App problems: what is wrong with an app, told to Saleor, which shows it at the app in the Dashboard (B.2.8).

Saleor 3.22.36 and newer have them. Saleor adds up what comes again under the same key within the aggregation period,
keeps at most 100 of an app, and shows each until it is dismissed: by staff, or by the app when it is solved.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.saleor.errors import SaleorUnreachableError
from app.saleor.graphql import SaleorClient, refusal_of
from app.saleor.installation import Installed
from app.saleor.versions import OLDEST_SUPPORTED, WITH_APP_PROBLEMS, read_release

MOST = 100
"""How many Saleor keeps of an app, and how many can be dismissed at once. One more, and the oldest is dropped."""

_MESSAGE_LENGTH = 2048
_AGGREGATION_MINUTES = 24 * 60


def _cut(text: object) -> object:
    return text[:_MESSAGE_LENGTH] if isinstance(text, str) else text


class AppProblem(BaseModel):
    """One problem, known by its ``key`` (by convention ``<what>:<of which configuration>``) until it is dismissed.

    ``critical``: Saleor shows it as pressing. What is sent again within a day is counted, not shown twice.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: Annotated[str, Field(min_length=3, max_length=128)]
    message: Annotated[str, Field(min_length=3), BeforeValidator(_cut)]
    critical: bool = False

    def graphql_input(self) -> dict[str, Any]:
        """Return Saleor's ``AppProblemCreateInput``."""
        said = {"key": self.key, "message": self.message, "aggregationPeriod": _AGGREGATION_MINUTES}
        return {**said, "criticalThreshold": 1} if self.critical else said


def knows_problems(installed: Installed) -> bool:
    """Return True when that Saleor is new enough to be told, as far as one knows.

    An installation tells only its line; the release comes with the first webhook. A Saleor of which no more is known
    than 3.22 is asked: one from before there were problems refuses, and nothing else comes of it.
    """
    major, minor, patch = read_release(installed.schema_version) or (*OLDEST_SUPPORTED, 0)
    return (major, minor, WITH_APP_PROBLEMS[2] if patch is None else patch) >= WITH_APP_PROBLEMS


async def report_problem(client: SaleorClient, installed: Installed, problem: AppProblem) -> None:
    """Let Saleor show a problem.

    Raises what ``SaleorClient`` raises; ``SaleorRefusedError`` also from the releases of 3.22 that do not know problems
    yet.
    """
    await _ask(client, installed, "app_problem_create", "appProblemCreate", problem.graphql_input())


async def dismiss_problems(client: SaleorClient, installed: Installed, keys: Sequence[str]) -> None:
    """Let Saleor show the problems with these keys, at most ``MOST``, no longer. Raises as ``report_problem``."""
    await _ask(client, installed, "app_problem_dismiss", "appProblemDismiss", {"byApp": {"keys": list(keys)}})


async def _ask(
    client: SaleorClient, installed: Installed, operation: str, field: str, asked: Mapping[str, Any]
) -> None:
    answer = (await client.ask(installed, operation, {"input": asked})).get(field)
    if not isinstance(answer, Mapping):
        msg = "Saleor answered a problem with nothing"
        raise SaleorUnreachableError(msg)
    for error in answer.get("errors") or ():
        raise refusal_of(error)
