"""The request that pays out to a card (gateway interface, 1c)."""

from collections.abc import Iterator, Set
from typing import Annotated, Literal

from pydantic import Field

from app.gateway.errors import BrokenRule
from app.gateway.models.base import CardNumber, RequestModel, Secret
from app.gateway.models.payments import Creation
from app.gateway.models.values import Day, Method, Mode, Text


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
    """Pays out to a card, given by exactly one of its number and its token."""

    mode: Literal[Mode.DIRECT] = Mode.DIRECT
    method: Literal[Method.CREDIT] = Method.CREDIT
    customer_ip: Text
    cc_number: CardNumber | None = None
    cc_token: Annotated[Secret, Field(min_length=1)] | None = None
    customer_fname: str | None = None
    customer_lname: str | None = None
    customer_email: str | None = None
    customer_phone: str | None = None
    customer_city: str | None = None
    properties: Recipient | None = None

    @classmethod
    def _check_combination(cls, given: Set[str]) -> Iterator[BrokenRule]:
        if ("cc_number" in given) == ("cc_token" in given):
            yield BrokenRule("cc_number", "either this or cc_token", "both or neither")
