"""The stores: Saleors that installed the app, their accounts and channels, their keys and saved cards."""

import re
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from sqlalchemy import JSON, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.store.columns import Amount, Moment, enum_type, partial_index

_ESCAPED = re.compile(r"[\[?]")  # what ``fnmatchcase`` knows besides ``*``


class ProductsForm(StrEnum):
    """Whether the gateway receives the list of products, and in which of its two forms (gateway facts, 5)."""

    NONE = "none"
    PLAIN = "plain"
    FISCAL = "fiscal"


class Installation(SQLModel, table=True):
    """A Saleor that installed us. One row for each GraphQL address; survives uninstall and re-install.

    ``away_since``: since when it has not accepted reports; None while nothing waits because of it. What waits is sent
    at the next sign of life; the last time was ``revived_at``. ``unauthorised_since``: since when it has not accepted
    the app's token: the app was removed there, or deactivated. ``schema_version``: the version it last reported,
    ``3.23`` when it installed us, ``3.23.28`` from its first webhook on.
    """

    __tablename__: ClassVar[Any] = "installation"
    __table_args__ = (partial_index("next_check_at IS NOT NULL", "ix_installation_next_check_at", "next_check_at"),)

    id: int | None = Field(default=None, primary_key=True)
    saleor_api_url: str = Field(unique=True, max_length=500)
    saleor_domain: str = Field(default="", max_length=255)
    schema_version: str | None = Field(default=None, max_length=20)
    app_id: str | None = Field(default=None, max_length=100)
    dashboard_url: str | None = Field(default=None, max_length=500)  # as the operator gives it; None: not given
    staff_dashboard_url: str | None = Field(default=None, max_length=500)  # as the store's staff give it
    problems_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when reported problems are compared next
    days_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when its finished days are summed next
    retention_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when outdated data are erased next
    token_sealed: str | None = Field(default=None, sa_type=Text)
    away_since: datetime | None = Field(default=None, sa_type=Moment)
    revived_at: datetime | None = Field(default=None, sa_type=Moment)
    unauthorised_since: datetime | None = Field(default=None, sa_type=Moment)
    next_check_at: datetime | None = Field(
        default=None, sa_type=Moment
    )  # when it is checked next whether the token is accepted
    jwks: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    jwks_fetched_at: datetime | None = Field(default=None, sa_type=Moment)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class PendingToken(SQLModel, table=True):
    """A token that was submitted in the name of a Saleor, which that Saleor has not confirmed."""

    __tablename__: ClassVar[Any] = "pending_token"

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    schema_version: str | None = Field(default=None, max_length=20)
    token_sealed: str = Field(sa_type=Text)
    received_at: datetime = Field(sa_type=Moment)


class ReportedProblem(SQLModel, table=True):
    """A problem of the app that a Saleor shows, because we reported it. After a re-install the app has another id."""

    __tablename__: ClassVar[Any] = "reported_problem"

    installation_id: int = Field(foreign_key="installation.id", primary_key=True)
    key: str = Field(primary_key=True, max_length=128)
    app_id: str = Field(max_length=100)
    told_at: datetime = Field(sa_type=Moment)


class MerchantAccount(SQLModel, table=True):
    """One point of sale at the gateway, with its keys. Never deleted while a payment refers to it: it is disabled.

    ``id`` is public: it is in the URL to which the gateway sends notifications.
    """

    __tablename__: ClassVar[Any] = "merchant_account"

    id: str = Field(primary_key=True, max_length=32)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    name: str = Field(max_length=100)
    pos_id: str = Field(max_length=64)
    base_url: str = Field(max_length=500)
    scheme_word: str = Field(max_length=40)
    api_key_sealed: str = Field(sa_type=Text)
    api_secret_sealed: str = Field(sa_type=Text)
    previous_api_secret_sealed: str | None = Field(default=None, sa_type=Text)
    previous_api_secret_until: datetime | None = Field(default=None, sa_type=Moment)  # it verifies nothing after that
    older_api_secrets_sealed: str | None = Field(default=None, sa_type=Text)  # those before it, each with its end
    older_api_secrets_until: datetime | None = Field(default=None, sa_type=Moment)  # the latest end
    endpoints_key_sealed: str = Field(sa_type=Text)
    currencies: list[str] = Field(sa_type=JSON)
    storefront_origins: list[str] = Field(sa_type=JSON)
    shop_name: str | None = Field(default=None, max_length=60)  # on shoppers' pages, like the next two
    shop_logo: str | None = Field(default=None, max_length=500)  # the https address of an image
    shop_color: str | None = Field(default=None, max_length=7)  # of buttons, like #1a2b3c
    order_timeout: int = Field(default=3600)  # seconds that a shopper has to pay
    order_3ds_bypass: str = Field(default="supported", max_length=20)
    names_required: bool = Field(default=False)  # refuse a payment whose shopper has no first and last name
    sector: str = Field(default="general", max_length=20)  # the gateway requires more of some merchants
    payer_fee_percent: Decimal | None = Field(default=None, sa_type=Amount)  # the most that payers pay on top
    merchant_mcc: str | None = Field(default=None, max_length=4)
    description_template: str | None = Field(default=None, max_length=500)  # the payment's description at the gateway
    attributes: list[str] = Field(default_factory=list, sa_type=JSON)  # the store's own: "delivery={metadata.delivery}"
    validation_url: str | None = Field(default=None, max_length=500)  # where the gateway asks before it pays
    products: ProductsForm = Field(default=ProductsForm.NONE, sa_type=enum_type(ProductsForm))
    receipt_delivery: str | None = Field(default=None, max_length=10)  # how the fiscal receipt reaches the shopper
    cancel_older: bool = Field(default=True)  # a new attempt to pay closes the older unpaid pages of the same checkout
    pci_dss_confirmed_at: datetime | None = Field(default=None, sa_type=Moment)  # None: no cards in the storefront
    subscriptions: bool = Field(default=False)  # a payment may start one, by fields not in the interface
    saved_cards: bool = Field(default=False)  # customers who agree have their cards saved
    apple_pay: bool = Field(default=False)  # offered to storefronts
    apple_pay_association: str | None = Field(default=None, sa_type=Text)  # the file by which Apple verifies the domain
    google_pay: bool = Field(default=False)  # offered to storefronts, if the next two are set
    google_pay_gateway: str | None = Field(default=None, max_length=100)  # Google's name of the gateway
    google_pay_gateway_merchant: str | None = Field(default=None, max_length=100)  # the gateway's name of the merchant
    google_pay_merchant: str | None = Field(default=None, max_length=100)  # Google's name of the merchant
    balances_url: str | None = Field(default=None, max_length=500)  # None: where payments are
    register_url: str | None = Field(default=None, max_length=500)  # None: where payments are
    dialect: str = Field(default="public", max_length=20)  # what its gateway decides where the interface leaves it open
    capture_endpoint: str | None = Field(default=None, max_length=20)  # None, as in the next nine: as in the dialect
    part_capture: str | None = Field(default=None, max_length=20)
    hold_split: str | None = Field(default=None, max_length=20)
    operation_products: str | None = Field(default=None, max_length=20)
    full_refund_amount: str | None = Field(default=None, max_length=20)
    page_language: str | None = Field(default=None, max_length=20)
    payout_3ds_bypass: str | None = Field(default=None, max_length=20)
    payout_identity: str | None = Field(default=None, max_length=20)
    product_taxes: str | None = Field(default=None, max_length=20)
    time_zone: str | None = Field(default=None, max_length=60)
    other_orders: list[str] = Field(default_factory=list, sa_type=JSON)  # of others at this point of sale: "woo-*"
    reconcile_at: int = Field(default=2)  # hour of the day, UTC, at which the books are compared with the gateway's
    split_rules: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # None: nothing is split
    payouts: bool = Field(default=False)  # staff may pay out to cards, within both limits
    payout_most: Decimal | None = Field(default=None, sa_type=Amount)  # None: nothing is paid out
    payout_most_a_day: Decimal | None = Field(default=None, sa_type=Amount)  # of any 24 hours; None: nothing
    payout_staff: list[str] = Field(default_factory=list, sa_type=JSON)  # by their e-mail addresses in Saleor
    payout_staff_ids: dict[str, str] = Field(default_factory=dict, sa_type=JSON)  # whose, by their ids in Saleor
    test_project: bool = Field(default=False)  # as its owner states: the gateway does not
    enabled: bool = Field(default=True)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)

    def is_order_of_others(self, order_id: str) -> bool:
        """Return whether an order that this app has not created is, by its id, another shop's."""
        return any(fnmatchcase(order_id, _ESCAPED.sub(r"[\g<0>]", pattern)) for pattern in self.other_orders)

    @property
    def replaced_secrets_until(self) -> datetime | None:
        """The end of the grace in which replaced API secrets verify notifications; None: none was replaced."""
        ends = (self.previous_api_secret_until, self.older_api_secrets_until)
        return max((end for end in ends if end is not None), default=None)

    @property
    def can_pay_out(self) -> bool:
        """True when payouts to cards are enabled, with both limits set."""
        return self.enabled and self.payouts and None not in (self.payout_most, self.payout_most_a_day)


class ChannelRoute(SQLModel, table=True):
    """Which merchant account receives the money of a Saleor channel.

    ``channel`` is its slug, ``channel_id`` Saleor's id of it, by which it is found after staff have changed the slug;
    None until Saleor has named it.
    """

    __tablename__: ClassVar[Any] = "channel_route"
    __table_args__ = (UniqueConstraint("installation_id", "channel"),)

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    channel: str = Field(max_length=255)
    channel_id: str | None = Field(default=None, max_length=100)
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)


class CardKey(SQLModel, table=True):
    """A key pair for which the storefronts of one store encrypt cards. ``kid`` is its thumbprint.

    The private half is sealed.
    """

    __tablename__: ClassVar[Any] = "card_key"

    kid: str = Field(primary_key=True, max_length=64)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    public_jwk: dict[str, Any] = Field(sa_type=JSON)
    private_sealed: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=Moment)


class SavedCard(SQLModel, table=True):
    """A card that a customer agreed to save with one merchant account: the gateway's token for it, sealed.

    ``id`` identifies it to storefronts. It cannot be guessed, but does not prove ownership: the owner is ``user_id``,
    Saleor's id of the customer. A card is recognised by its ``mask`` (first six digits, last four), because the gateway
    may issue another token each time. ``expires_at`` is the token's expiry; None when the gateway did not state it.
    ``unusable_since``: the gateway no longer accepts it, so it is not listed.
    """

    __tablename__: ClassVar[Any] = "saved_card"
    __table_args__ = (UniqueConstraint("account_id", "user_id", "mask"),)

    id: str = Field(primary_key=True, max_length=64)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    user_id: str = Field(max_length=100)
    mask: str = Field(max_length=20)
    brand: str | None = Field(default=None, max_length=40)
    token_sealed: str = Field(sa_type=Text)
    expires_at: datetime | None = Field(default=None, sa_type=Moment)
    unusable_since: datetime | None = Field(default=None, sa_type=Moment)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class DeletedCustomer(SQLModel, table=True):
    """A customer whom Saleor has deleted: no card is saved any more from a payment for which they had agreed to it.

    Saleor never reuses an id, so this holds for ever.
    """

    __tablename__: ClassVar[Any] = "deleted_customer"

    installation_id: int = Field(foreign_key="installation.id", primary_key=True)
    user_id: str = Field(primary_key=True, max_length=100)
    deleted_at: datetime = Field(sa_type=Moment)
