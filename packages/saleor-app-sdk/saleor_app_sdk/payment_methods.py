"""Payment method details that Saleor shows to staff (``paymentMethodDetails``, Saleor 3.22 and newer).

Saleor refuses a whole response for one wrong detail (a six-digit BIN, a two-digit year), and with it the charge. So
these classes accept only what it accepts, and ``CardDetails.from_known`` omits invalid values.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from saleor_app_sdk.limits import printable

Name = Annotated[str, Field(min_length=1, max_length=256)]
Digits = Annotated[str, Field(pattern=r"^[0-9]{1,4}$")]


class _Details(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class CardDetails(_Details):
    """A payment card, as far as it may be known: at most the first and the last four digits."""

    name: Name
    brand: Annotated[str, Field(max_length=40)] | None = None
    first_digits: Digits | None = None
    last_digits: Digits | None = None
    exp_month: Annotated[int, Field(ge=1, le=12)] | None = None
    exp_year: Annotated[int, Field(ge=2000, le=9999)] | None = None

    @classmethod
    def from_known(
        cls,
        *,
        name: str,
        brand: str | None = None,
        first_digits: str | None = None,
        last_digits: str | None = None,
        exp_month: int | None = None,
        exp_year: int | None = None,
    ) -> Self:
        """Build the details from the values that Saleor accepts, and omit the others; never raises.

        A two-digit year is one of this century.
        """
        year = exp_year + 2000 if exp_year is not None and 0 <= exp_year < 100 else exp_year
        return cls(
            name=printable(name).strip()[:256] or "Card",
            brand=printable(brand)[:40] if brand else None,
            first_digits=_digits((first_digits or "")[:4]),
            last_digits=_digits((last_digits or "")[-4:]),
            exp_month=exp_month if exp_month is not None and 1 <= exp_month <= 12 else None,
            exp_year=year if year is not None and 2000 <= year <= 9999 else None,
        )

    def response_fields(self) -> dict[str, Any]:
        """Return the form for a session response."""
        return {"type": "CARD", **self._camel_case_fields()}

    def graphql_input(self) -> dict[str, Any]:
        """Return the form that ``transactionEventReport`` takes (``PaymentMethodDetailsInput``)."""
        return {"card": self._camel_case_fields()}

    def _camel_case_fields(self) -> dict[str, Any]:
        fields = {
            "name": self.name,
            "brand": self.brand,
            "firstDigits": self.first_digits,
            "lastDigits": self.last_digits,
            "expMonth": self.exp_month,
            "expYear": self.exp_year,
        }
        return {key: value for key, value in fields.items() if value is not None}


class OtherMethod(_Details):
    """Any method but a card, by the name that staff know."""

    name: Name

    def response_fields(self) -> dict[str, Any]:
        """Return the form for a session response."""
        return {"type": "OTHER", "name": self.name}

    def graphql_input(self) -> dict[str, Any]:
        """Return the form that ``transactionEventReport`` takes (``PaymentMethodDetailsInput``)."""
        return {"other": {"name": self.name}}


PaymentMethod = CardDetails | OtherMethod


def _digits(text: str) -> str | None:
    return text if text.isascii() and text.isdigit() else None
