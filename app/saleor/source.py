"""What is being paid for, as events describe it: a checkout or an order, its addresses, its lines.

Unknown fields are ignored, text that Saleor may leave null becomes "", and amounts are ``Decimal`` in the currency's
main unit (569.50 is 569 hryvnias and 50 kopiykas).
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel


def _nothing_is_empty(value: object) -> object:
    return "" if value is None else value


def _nothing_is_none(value: object) -> object:
    return () if value is None else value


Text = Annotated[str, BeforeValidator(_nothing_is_empty)]


Quantity = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
"""A number of pieces: GraphQL's ``Int`` has 32 bits. Strict, for ``1e999999999`` is a number as well, and to make an
integer of it takes hours, in which nothing else is answered."""


class FromSaleor(BaseModel):
    """A part of an event."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )


class Money(FromSaleor):
    """An amount in its currency."""

    amount: Decimal
    currency: str


class TaxedMoney(FromSaleor):
    """A price; ``gross`` is what the shopper pays, ``tax`` what of it is tax."""

    gross: Money
    tax: Money | None = None


class Channel(FromSaleor):
    """The sales channel."""

    slug: str
    currency_code: Text = ""


class User(FromSaleor):
    """The customer's account; absent for guests."""

    id: str


class Principal(FromSaleor):
    """Who has called Saleor: somebody who has signed in, or an app with its token. Whoever has not is nobody."""

    kind: Text = Field(default="", alias="__typename")
    id: Text = ""


class Country(FromSaleor):
    """ISO 3166-1 alpha-2."""

    code: str


class Address(FromSaleor):
    """A postal address; any part can be empty."""

    first_name: Text = ""
    last_name: Text = ""
    company_name: Text = ""
    street_address_1: Text = Field(default="", alias="streetAddress1")
    street_address_2: Text = Field(default="", alias="streetAddress2")
    city: Text = ""
    city_area: Text = ""
    postal_code: Text = ""
    country: Country | None = None
    country_area: Text = ""
    phone: Text = ""


class MetadataItem(FromSaleor):
    """A pair of public metadata."""

    key: str
    value: Text = ""


class WithMetadata(FromSaleor):
    """Something that stores hang their own facts on."""

    metadata: tuple[MetadataItem, ...] = ()

    def metafield(self, key: str) -> str:
        """Return the value under ``key``, without space around it; empty when there is none."""
        return next((item.value.strip() for item in self.metadata if item.key == key), "")


class Product(WithMetadata):
    """What is sold."""

    name: Text = ""
    product_type: WithMetadata | None = None


class Variant(WithMetadata):
    """In which form it is sold."""

    id: str
    name: Text = ""
    sku: str | None = None
    product: Product | None = None

    def nearest_metafield(self, key: str) -> str:
        """Return the value under ``key`` of the variant, else of its product, else of its product type; else empty."""
        product_type = self.product.product_type if self.product else None
        return next((said for part in (self, self.product, product_type) if part and (said := part.metafield(key))), "")


class Line(FromSaleor):
    """A line of the checkout or order. ``variant`` is None when it was deleted after it was ordered.

    ``tax_rate`` is a fraction (0.2 is 20 %); checkouts do not tell it.
    """

    id: str
    quantity: Quantity
    product_name: Text = ""
    variant_name: Text = ""
    product_sku: str | None = None
    product_variant_id: str | None = None
    tax_rate: Decimal | None = None
    total_price: TaxedMoney | None = None
    # A checkout tells it without saying what of it is tax. GraphQL wants two names for what differs in type.
    undiscounted_total_price: TaxedMoney | Money | None = Field(
        default=None, validation_alias=AliasChoices("undiscountedTotalPrice", "orderedBeforeDiscounts")
    )
    variant: Variant | None = Field(default=None, validation_alias=AliasChoices("variant", "orderedVariant"))

    @property
    def name(self) -> str:
        """What people call it: the product, and the variant where it has a name of its own."""
        variant = self.variant_name or (self.variant.name if self.variant else "")
        product = self.product_name or (self.variant.product.name if self.variant and self.variant.product else "")
        return f"{product} ({variant})" if product and variant not in {"", product} else product or variant or self.id

    @property
    def sku(self) -> str | None:
        """The store's own number of what is sold."""
        return self.product_sku or (self.variant.sku if self.variant else None)

    @property
    def variant_id(self) -> str | None:
        """The variant's global id, the same in a checkout and in the order made of it."""
        return self.product_variant_id or (self.variant.id if self.variant else None)

    @property
    def before_discounts(self) -> Decimal | None:
        """What all of it would cost without discounts; None when Saleor does not say."""
        price = self.undiscounted_total_price
        return price.gross.amount if isinstance(price, TaxedMoney) else price.amount if price else None


class Covering(FromSaleor):
    """A transaction of a checkout or order, of whatever app: what of the total it covers."""

    id: str
    authorized_amount: Money | None = None
    authorize_pending_amount: Money | None = None
    charged_amount: Money | None = None
    charge_pending_amount: Money | None = None

    @property
    def covered(self) -> Decimal:
        """What is paid, reserved, or on its way."""
        amounts = (
            self.authorized_amount,
            self.authorize_pending_amount,
            self.charged_amount,
            self.charge_pending_amount,
        )
        return sum((each.amount for each in amounts if each), Decimal(0))


class Source(FromSaleor):
    """What is being paid for. Checkout and Order name some fields differently; here they have one name."""

    id: str
    channel: Channel
    email: Text = Field(default="", validation_alias=AliasChoices("email", "userEmail"))
    language_code: Text = Field(default="", validation_alias=AliasChoices("languageCode", "languageCodeEnum"))
    user: User | None = None
    billing_address: Address | None = None
    shipping_address: Address | None = None
    total: TaxedMoney | None = Field(default=None, validation_alias=AliasChoices("total", "totalPrice"))
    shipping_price: TaxedMoney | None = None
    lines: tuple[Line, ...] = ()
    # All attempts to pay it, of every app; those of a checkout move to the order that is made of it.
    # (Two names, because GraphQL takes no field that may be null for the same as one that may not.)
    transactions: Annotated[tuple[Covering, ...], BeforeValidator(_nothing_is_none)] = Field(
        default=(), validation_alias=AliasChoices("transactions", "checkoutTransactions", "orderTransactions")
    )

    @property
    def user_id(self) -> str | None:
        """The customer's global id, None for a guest."""
        return self.user.id if self.user else None

    def asking_customer(self, principal: Principal | None) -> str | None:
        """Return the customer's id if it is they who ask, or an app on their behalf; None for anybody else.

        Whoever knows the id of a checkout can begin to pay it, signed in or not. An app has its token from the store:
        whom a storefront's server asks for is for that server to know.
        """
        if principal is None or self.user is None:
            return None
        return self.user.id if principal.kind == "App" or principal.id == self.user.id else None

    @property
    def first_name(self) -> str:
        """As billed, else as shipped to, else empty."""
        return self._said_first(lambda address: address.first_name)

    @property
    def last_name(self) -> str:
        """As billed, else as shipped to, else empty."""
        return self._said_first(lambda address: address.last_name)

    @property
    def phone(self) -> str:
        """As billed, else as shipped to, else empty; Saleor sends E.164 (+380501234567)."""
        return self._said_first(lambda address: address.phone)

    def _said_first(self, part: Callable[[Address], str]) -> str:
        addresses = (self.billing_address, self.shipping_address)
        return next((said for address in addresses if address and (said := part(address))), "")


class Checkout(Source):
    """Not an order yet."""

    @property
    def number(self) -> str | None:
        """A checkout has none."""
        return None


class Order(Source):
    """Placed; ``number`` is what people call it."""

    number: Text = ""


def _kind_of_source(value: object) -> str:
    if isinstance(value, Order | Checkout):
        return type(value).__name__
    if isinstance(value, Mapping):
        # Not every document selects __typename; of the two only an order has a number.
        return str(value.get("__typename") or ("Order" if "number" in value else "Checkout"))
    return ""


OrderOrCheckout = Annotated[
    Annotated[Checkout, Tag("Checkout")] | Annotated[Order, Tag("Order")], Discriminator(_kind_of_source)
]
