"""The source object of a payment, as events describe it: a checkout or an order, its addresses, its lines.

Unknown fields are ignored, null text becomes "", and amounts are ``Decimal`` in the currency's
main unit (569.50 is 569 hryvnias and 50 kopiykas).
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel

from integration_base.typed_text import visible_text


def _none_to_text(value: object) -> object:
    return "" if value is None else value


def _seen(text: str) -> str:
    """Return a text without white space around it; empty if nothing of it is seen."""
    return text.strip() if visible_text(text) else ""


def none_to_tuple(value: object) -> object:
    """Return a list as it is, and an empty one for null."""
    return () if value is None else value


Text = Annotated[str, BeforeValidator(_none_to_text)]


Quantity = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
"""A number of pieces: GraphQL's ``Int`` has 32 bits. Strict, because ``1e999999999`` is a number too, and converting it
to an integer would block the process for hours."""


class SaleorModel(BaseModel):
    """Base class of the parts of an event."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )


class Money(SaleorModel):
    """An amount in its currency."""

    amount: Decimal
    currency: str


class TaxedMoney(SaleorModel):
    """A price; ``gross`` is what the shopper pays, ``tax`` its tax portion."""

    gross: Money
    tax: Money | None = None


class Channel(SaleorModel):
    """The sales channel. ``id`` stays when staff change the slug; None from a Saleor that was not asked for it yet."""

    id: str | None = None
    slug: str
    currency_code: Text = ""


class User(SaleorModel):
    """The customer's account; absent for guests."""

    id: str


class Customer(User):
    """A customer with their e-mail address, in whatever case they typed it."""

    email: Text = ""


class Principal(SaleorModel):
    """The caller of Saleor: a signed-in user, or an app with its token. An anonymous caller has none."""

    kind: Text = Field(default="", alias="__typename")
    id: Text = ""


class Country(SaleorModel):
    """ISO 3166-1 alpha-2."""

    code: Text = ""


class Address(SaleorModel):
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


class MetadataItem(SaleorModel):
    """A key and value of public metadata."""

    key: str
    value: Text = ""


class WithMetadata(SaleorModel):
    """An object to which stores can attach metadata."""

    metadata: tuple[MetadataItem, ...] = ()

    def metafield(self, key: str) -> str:
        """Return the value under ``key``, stripped of white space; empty when there is none."""
        return next((item.value.strip() for item in self.metadata if item.key == key), "")


class Product(WithMetadata):
    """The product that is sold."""

    name: Text = ""
    product_type: WithMetadata | None = None


class Variant(WithMetadata):
    """The variant of a product that is sold."""

    id: str
    name: Text = ""
    sku: str | None = None
    product: Product | None = None

    def nearest_metafield(self, key: str) -> str:
        """Return the value under ``key`` of the variant, else of its product, else of its product type; else empty."""
        product_type = self.product.product_type if self.product else None
        return next(
            (value for part in (self, self.product, product_type) if part and (value := part.metafield(key))), ""
        )


class Line(SaleorModel):
    """A line of the checkout or order. ``variant`` is None when it was deleted after the order.

    ``tax_rate`` is a fraction (0.2 is 20 %); checkouts do not have it.
    """

    id: str
    quantity: Quantity
    product_name: Text = ""
    variant_name: Text = ""
    product_sku: str | None = None
    product_variant_id: str | None = None
    tax_rate: Decimal | None = None
    total_price: TaxedMoney | None = None
    # In a checkout it does not separate the tax. GraphQL needs two names for fields that differ in type.
    undiscounted_total_price: TaxedMoney | Money | None = Field(
        default=None, validation_alias=AliasChoices("undiscountedTotalPrice", "orderedBeforeDiscounts")
    )
    variant: Variant | None = Field(default=None, validation_alias=AliasChoices("variant", "orderedVariant"))

    @property
    def name(self) -> str:
        """The display name: the product, and the variant where it has a name of its own."""
        variant = self.variant_name or (self.variant.name if self.variant else "")
        product = self.product_name or (self.variant.product.name if self.variant and self.variant.product else "")
        return f"{product} ({variant})" if product and variant not in {"", product} else product or variant or self.id

    @property
    def sku(self) -> str | None:
        """The stock keeping unit: the store's own article number."""
        return self.product_sku or (self.variant.sku if self.variant else None)

    @property
    def variant_id(self) -> str | None:
        """The variant's global id, the same in a checkout and in the order created from it."""
        return self.product_variant_id or (self.variant.id if self.variant else None)

    @property
    def before_discounts(self) -> Decimal | None:
        """The price of the whole line without discounts; None when Saleor does not provide it."""
        price = self.undiscounted_total_price
        return price.gross.amount if isinstance(price, TaxedMoney) else price.amount if price else None


class CoveringTransaction(SaleorModel):
    """A transaction of a checkout or order, of any app, with the amounts of the total that it covers."""

    id: str
    authorized_amount: Money | None = None
    authorize_pending_amount: Money | None = None
    charged_amount: Money | None = None
    charge_pending_amount: Money | None = None

    @property
    def charged(self) -> Decimal:
        """The amount that is paid or pending: what Saleor counts in the balance of an order."""
        return sum(
            (amount.amount for amount in (self.charged_amount, self.charge_pending_amount) if amount), Decimal(0)
        )

    @property
    def authorized(self) -> Decimal:
        """The amount that is reserved, or is about to be."""
        return sum(
            (amount.amount for amount in (self.authorized_amount, self.authorize_pending_amount) if amount), Decimal(0)
        )

    @property
    def covered(self) -> Decimal:
        """The amount that is paid, reserved or pending."""
        return self.charged + self.authorized


class Source(WithMetadata):
    """A checkout or an order. The two name some fields differently in Saleor; here they have one name."""

    id: str
    channel: Channel
    email: Text = Field(default="", validation_alias=AliasChoices("email", "userEmail"))
    language_code: Text = Field(default="", validation_alias=AliasChoices("languageCode", "languageCodeEnum"))
    user: User | None = None
    billing_address: Address | None = None
    shipping_address: Address | None = None
    total: TaxedMoney | None = Field(default=None, validation_alias=AliasChoices("total", "totalPrice"))
    # Of an order: what is charged, less what is owed. Unlike the total it respects granted refunds.
    total_balance: Money | None = None
    shipping_price: TaxedMoney | None = None
    lines: tuple[Line, ...] = ()
    # All attempts to pay it, of every app; those of a checkout move to the order that is created from it.
    # (Two names, because GraphQL does not merge a nullable field with a non-null one.)
    transactions: Annotated[tuple[CoveringTransaction, ...], BeforeValidator(none_to_tuple)] = Field(
        default=(), validation_alias=AliasChoices("transactions", "checkoutTransactions", "orderTransactions")
    )

    @property
    def amount_due(self) -> Decimal | None:
        """The total, less what staff have granted to refund; None when Saleor does not state it."""
        if self.total is None:
            return None
        if self.total_balance is None:
            return self.total.gross.amount
        charged = sum((transaction.charged for transaction in self.transactions), Decimal(0))
        return min(self.total.gross.amount, charged - self.total_balance.amount)

    @property
    def user_id(self) -> str | None:
        """The customer's global id, None for a guest."""
        return self.user.id if self.user else None

    def requesting_customer_id(self, principal: Principal | None) -> str | None:
        """Return the customer's id if they, or an app on their behalf, sent the request; None for any other caller.

        Anyone who knows the id of a checkout can begin to pay it, signed in or not. An app has its token from the
        store: a storefront's server is trusted to know on whose behalf it calls.
        """
        if principal is None or self.user is None:
            return None
        return self.user.id if principal.kind == "App" or principal.id == self.user.id else None

    @property
    def first_name(self) -> str:
        """From the billing address, else the shipping address, else empty; with the last name of the same person."""
        return self._names[0]

    @property
    def last_name(self) -> str:
        """See ``first_name``."""
        return self._names[1]

    @property
    def phone(self) -> str:
        """From the billing address, else the shipping address, else empty; Saleor sends E.164 (+380501234567)."""
        return self._first_nonempty(lambda address: address.phone)

    @property
    def country_code(self) -> str:
        """From the billing address, else empty; as Saleor has it, which may be no code."""
        country = self.billing_address.country if self.billing_address else None
        return country.code if country else ""

    @property
    def _names(self) -> tuple[str, str]:
        """The names of one person: those of the address that has both, else of the one that has any."""
        addresses = (address for address in (self.billing_address, self.shipping_address) if address)
        names = [(_seen(address.first_name), _seen(address.last_name)) for address in addresses]
        return next(filter(all, names), next(filter(any, names), ("", "")))

    def _first_nonempty(self, part: Callable[[Address], str]) -> str:
        addresses = (self.billing_address, self.shipping_address)
        return next((value for address in addresses if address and (value := _seen(part(address)))), "")


class Checkout(Source):
    """A checkout, which is not an order yet."""

    @property
    def number(self) -> str | None:
        """None: a checkout has no number."""
        return None


class Order(Source):
    """A placed order; ``number`` is the one that people use."""

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
