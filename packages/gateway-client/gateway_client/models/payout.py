"""The request that pays out to a card (gateway interface, 1c)."""

from collections.abc import Iterator, Set
from typing import Annotated, Literal

from pydantic import Field

from gateway_client.errors import BrokenRule, InvalidRequestError
from gateway_client.models.base import CardNumber, RequestModel, Secret
from gateway_client.models.payments import TAX_ID_ABOVE, Creation, Sector, needs_tax_id
from gateway_client.models.values import Day, Method, Mode, Text


class Recipient(RequestModel):
    """The recipient (``properties``). ``is_operation_taxable``: "true" for winnings under the special tax regime,
    "false" for returned deposits; gambling merchants only.
    """

    recipient_first_name: str | None = None
    recipient_middle_name: str | None = None
    recipient_last_name: str | None = None
    recipient_doc_number: str | None = None
    recipient_doc_issue_date: Day | None = None
    recipient_doc_issued_by: str | None = None
    recipient_phone: str | None = None
    recipient_birth_date: Day | None = None
    recipient_birth_place: str | None = None
    recipient_country: str | None = None
    recipient_city: str | None = None
    recipient_address: str | None = None
    recipient_postcode: str | None = None
    wallet_number: str | None = None
    is_operation_taxable: Literal["true", "false"] | None = None


class Payout(Creation):
    """Pays out to a card, given by exactly one of its number and its token. The customer is the recipient.

    ``customer_patronym`` and ``customer_tax_id`` are sent where the dialect has them.
    """

    mode: Literal[Mode.DIRECT] = Mode.DIRECT
    method: Literal[Method.CREDIT] = Method.CREDIT
    customer_ip: Text
    cc_number: CardNumber | None = None
    cc_token: Annotated[Secret, Field(min_length=1)] | None = None
    customer_fname: str | None = None
    customer_lname: str | None = None
    customer_patronym: str | None = None
    customer_tax_id: str | None = None
    customer_email: str | None = None
    customer_phone: str | None = None
    customer_city: str | None = None
    properties: Recipient | None = None

    @classmethod
    def _check_combination(cls, given: Set[str]) -> Iterator[BrokenRule]:
        if ("cc_number" in given) == ("cc_token" in given):
            yield BrokenRule("cc_number", "either this or cc_token", "both or neither")

    def check_sector(self, sector: Sector) -> None:
        """Raise ``InvalidRequestError`` if fields are missing that the gateway requires of such merchants' payouts.

        Known publicly (gateway facts, 14); the interface requires none.
        """
        if broken := tuple(self._missing_fields(sector)):
            raise InvalidRequestError.of(broken, order_id=self.order_id)

    def _missing_fields(self, sector: Sector) -> Iterator[BrokenRule]:
        if sector is not Sector.GENERAL:
            for name in ("customer_fname", "customer_lname", "customer_birthday"):
                if getattr(self, name) is None:
                    yield BrokenRule(name, f"is required of {sector} merchants", "nothing")
        if needs_tax_id(sector, self.amount, self.currency) and not self.customer_tax_id:
            limit = f"is required of {sector} merchants above {TAX_ID_ABOVE} UAH"
            yield BrokenRule("customer_tax_id", limit, "nothing")
