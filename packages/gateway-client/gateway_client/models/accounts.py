"""The merchant's money at the gateway (gateway interface, Balance account)."""

from typing import ClassVar

from pydantic import Field

from gateway_client.models.base import ResponseModel
from gateway_client.models.values import ReportedAmount


class Balances(ResponseModel):
    """The available balance and the reserve held back. The gateway's two names for the reserve are read alike."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("available", "rolling_reserve")

    available: ReportedAmount
    rolling_reserve: ReportedAmount | None = Field(default=None, alias="rollingReserve")


class BalanceAccount(ResponseModel):
    """One account in one currency."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("id", "name", "currency")

    id: str = Field(min_length=1)
    name: str
    currency: str
    balances: Balances
