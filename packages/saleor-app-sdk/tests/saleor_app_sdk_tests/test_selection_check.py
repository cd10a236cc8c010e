"""A model is compared with its subscription when the webhook is defined: what is not selected is never in a body."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, RootModel, model_validator

from saleor_app_sdk import (
    Acknowledgement,
    ActionResponse,
    AppInfo,
    InMemoryInstallationStore,
    SaleorApp,
    SaleorModel,
    TransactionRefundRequested,
    WebhookContext,
)
from saleor_app_sdk.source import Money, TaxedMoney

SELECTED = """
subscription { event { ... on OrderCreated { bought: order {
  id
  shippingAddress { city }
  lines { ...Sold }
  payments: transactions { ... on TransactionItem { pspReference } }
  total { gross { amount currency } }
} } } }
fragment Sold on OrderLine { quantity variant { name } }
"""


class Address(SaleorModel):
    city: str


class Variant(SaleorModel):
    name: str


class Line(SaleorModel):
    quantity: int
    variant: Variant | None


class Payment(SaleorModel):
    psp_reference: str


class Total(SaleorModel):
    gross: Money


class Order(SaleorModel):
    id: str
    shipping_address: Address | None = None
    lines: list[Line]
    payments: tuple[Payment, ...] = ()
    total: Total


class Fitting(SaleorModel):
    order: Order = Field(alias="bought")
    version: str  # of what the SDK selects itself
    typename: Literal["OrderCreated"] = Field(alias="__typename")


def define(model: Any, query: str = SELECTED, folder: Path | None = None) -> None:
    info = AppInfo("example.app", "Example", "1.0.0", "You", "")
    app = SaleorApp(
        info=info, api_base_url="https://app.example.com", store=InMemoryInstallationStore(), manifest_folder=folder
    )

    async def handle(event: Any, context: WebhookContext) -> Acknowledgement:
        return Acknowledgement()

    handle.__annotations__["event"] = model
    app.webhook("ORDER_CREATED", query=query)(handle)


def missing(model: Any, query: str = SELECTED, folder: Path | None = None) -> list[str]:
    """Return what the error says that is not selected."""
    with pytest.raises(TypeError, match="ORDER_CREATED does not select what its handler reads: ") as refused:
        define(model, query, folder)
    return str(refused.value).partition(": ")[2].split(", ")


def test_model_whose_fields_are_selected_is_accepted() -> None:
    define(Fitting)
    define(Mapping[str, Any])
    define(dict[str, Fitting])  # by the keys of the body, whatever they are


def test_alias_of_the_query_is_the_name_in_the_body() -> None:
    class Unaliased(SaleorModel):
        order: Order

    assert missing(Unaliased) == ["event.order"]


def test_fields_of_nested_objects_are_named_by_their_place() -> None:
    class TallAddress(Address):
        floor: int

    class PricedVariant(Variant):
        sku_code: str

    class PricedLine(Line):
        variant: Annotated[PricedVariant, Field(description="what is sold")]

    class LargeOrder(SaleorModel):
        shipping_address: TallAddress | None = None
        lines: list[PricedLine]

    class Large(SaleorModel):
        bought: LargeOrder | None

    assert missing(Large) == ["event.bought.lines.variant.skuCode", "event.bought.shippingAddress.floor"]


def test_default_does_not_excuse_a_field_that_is_never_selected() -> None:
    class WithNote(Order):
        customer_note: str = ""

    class Noted(SaleorModel):
        bought: WithNote

    assert missing(Noted) == ["event.bought.customerNote"]


def test_models_of_the_sdk_have_defaults_for_what_is_not_selected() -> None:
    class Taxed(SaleorModel):
        total: TaxedMoney  # its ``tax`` has a default

    class Event(SaleorModel):
        bought: Taxed

    define(Event)

    class UnpricedOrder(SaleorModel):
        id: Money

    class Unpriced(SaleorModel):
        bought: UnpricedOrder

    without_currency = SELECTED.replace("amount currency", "amount")
    assert missing(Event, without_currency) == ["event.bought.total.gross.currency"]
    define(Unpriced)  # a scalar has no selections to compare with


def test_every_way_in_which_pydantic_finds_a_field_counts() -> None:
    class Ways(BaseModel):
        model_config = ConfigDict(populate_by_name=True)

        bought: Mapping[str, Any] = Field(alias="order")
        city: str = Field(validation_alias=AliasPath("bought", "shippingAddress", "city"))
        first_line: int = Field(validation_alias=AliasPath("bought", "lines", 0, "quantity"))
        currency: str = Field(
            validation_alias=AliasChoices("currency", AliasPath("bought", "total", "gross", "currency"))
        )

    define(Ways)

    class Nowhere(BaseModel):
        street: str = Field(validation_alias=AliasPath("bought", "shippingAddress", "street"))
        bought: Mapping[str, Any] = Field(alias="order")

    assert missing(Nowhere) == ["event.bought.shippingAddress.street", "event.order"]


def test_value_of_several_models_fits_one_of_them() -> None:
    class Digital(SaleorModel):
        download_url: str

    class Heavy(SaleorModel):
        weight: int
        quantity: int

    class OrderOfEither(SaleorModel):
        lines: list[Digital | Line]

    class Event(SaleorModel):
        bought: OrderOfEither

    define(Event)

    class OrderOfNeither(SaleorModel):
        lines: list[Digital | Heavy]

    class Other(SaleorModel):
        bought: OrderOfNeither

    assert missing(Other) == ["event.bought.lines.downloadUrl"]


def test_subscription_of_a_payment_event_is_compared_with_its_class() -> None:
    info = AppInfo("example.app", "Example", "1.0.0", "You", "")
    app = SaleorApp(info=info, api_base_url="https://app.example.com", store=InMemoryInstallationStore())
    query = "subscription { event { ... on TransactionRefundRequested { transaction { id } action { amount } } } }"

    async def refund(event: TransactionRefundRequested, context: WebhookContext) -> ActionResponse:
        raise NotImplementedError

    with pytest.raises(TypeError, match=r"TRANSACTION_REFUND_REQUESTED .* event\.action\.currency$"):
        app.webhook("TRANSACTION_REFUND_REQUESTED", query=query)(refund)


def test_lists_by_a_root_model_are_compared_too() -> None:
    class TallLine(Line):
        height: int

    class Lines(RootModel[list[TallLine]]):
        pass

    class OrderOfLines(SaleorModel):
        lines: Lines

    class Event(SaleorModel):
        bought: OrderOfLines

    assert missing(Event) == ["event.bought.lines.height"]


def test_validator_may_provide_what_saleor_does_not_send() -> None:
    class Summed(Order):
        line_count: int

        @model_validator(mode="before")
        @classmethod
        def _count(cls, body: Any) -> Any:
            return {**body, "lineCount": len(body["lines"])}

    class Event(SaleorModel):
        bought: Summed

    define(Event)

    class TallAddress(Address):
        floor: int

    class TallSummed(Summed):
        shipping_address: TallAddress | None = None

    class Tall(SaleorModel):
        bought: TallSummed

    assert missing(Tall) == ["event.bought.shippingAddress.floor"]


def test_documents_by_version_must_all_select_what_has_no_default(tmp_path: Path) -> None:
    class OrderOfTime(SaleorModel):
        id: str
        note: str = ""

    class Event(SaleorModel):
        order: OrderOfTime

    folder = tmp_path / "subscriptions"
    folder.mkdir()
    text = "subscription { event { ... on OrderCreated { order { %s } } } }"
    (folder / "created.graphql").write_text(text % "id")
    (folder / "created.3.22.graphql").write_text(text % "id note")
    define(Event, "created", tmp_path)
    (folder / "created.3.22.graphql").write_text(text % "note")
    assert missing(Event, "created", tmp_path) == ["event.order.id"]
    (folder / "created.3.22.graphql").write_text(text % "id")
    assert missing(Event, "created", tmp_path) == ["event.order.note"]
