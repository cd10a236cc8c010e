"""The merchant's money at the gateway (gateway interface, Balance account)."""

from typing import Any, ClassVar

from pydantic import Field, model_validator

from app.gateway.models.base import ResponseModel
from app.gateway.models.values import ReportedAmount


class Balances(ResponseModel):
    """The available balance and the reserve held back. The gateway has two names for the reserve, this model one."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("available", "rolling_reserve")

    available: ReportedAmount
    rolling_reserve: ReportedAmount | None = Field(default=None, alias="rollingReserve")

    @model_validator(mode="before")
    @classmethod
    def _normalize_names(cls, data: Any) -> Any:
        if isinstance(data, dict) and "rolling_reserve" in data and data.get("rollingReserve") is None:
            members = dict(data)
            members["rollingReserve"] = members.pop("rolling_reserve")
            return members
        return data


class BalanceAccount(ResponseModel):
    """One account in one currency."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("id", "name", "currency")

    id: str = Field(min_length=1)
    name: str
    currency: str
    balances: Balances
