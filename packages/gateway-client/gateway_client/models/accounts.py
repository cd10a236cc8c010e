"""The merchant's money at the gateway (gateway interface, Balance account)."""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from gateway_client.models.base import ResponseModel
from gateway_client.models.values import ReportedAmount, empty_to_none


class Balances(ResponseModel):
    """The available balance and the reserve held back. The gateway's two names for the reserve are read alike."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("available", "rolling_reserve")

    available: ReportedAmount
    rolling_reserve: Annotated[ReportedAmount | None, BeforeValidator(empty_to_none)] = Field(
        default=None, alias="rollingReserve"
    )


class BalanceAccount(ResponseModel):
    """One account in one currency."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("id", "name", "currency")

    id: str = Field(min_length=1)
    name: Annotated[str, BeforeValidator(lambda name: empty_to_none(name) or "")]
    currency: str
    balances: Balances
