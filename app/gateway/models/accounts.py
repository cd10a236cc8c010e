"""The merchant's money at the gateway (gateway interface, Balance account)."""

from typing import Any, ClassVar

from pydantic import Field, model_validator

from app.gateway.models.base import ResponseModel
from app.gateway.models.values import Reported


class Balances(ResponseModel):
    """What can be paid out, and what is held back. The reserve is written in two ways; it is one number here."""

    _shown: ClassVar[tuple[str, ...]] = ("available", "rolling_reserve")

    available: Reported
    rolling_reserve: Reported | None = Field(default=None, alias="rollingReserve")

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and "rolling_reserve" in data and data.get("rollingReserve") is None:
            members = dict(data)
            members["rollingReserve"] = members.pop("rolling_reserve")
            return members
        return data


class BalanceAccount(ResponseModel):
    """One account in one currency."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "name", "currency")

    id: str = Field(min_length=1)
    name: str
    currency: str
    balances: Balances
