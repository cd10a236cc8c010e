"""Whose payments these are: Saleors that installed the app, their accounts and channels, their keys and saved cards."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.db.columns import Amount, Moment, one_of, partial_index


class ProductsForm(StrEnum):
    """Whether the gateway is told what is paid for, and in which of its two forms (gateway facts, 5)."""

    NONE = "none"
    PLAIN = "plain"
    FISCAL = "fiscal"


class Installation(SQLModel, table=True):
    """A Saleor that installed us. One row for each GraphQL address; survives uninstall and re-install.

    ``away_since``: since when it has not taken what it was told; until then nothing waits because of it. What waits is
    told at once when it is heard of, which was last so at ``revived_at``. ``unauthorised_since``: since when it has not
    accepted the app's token: the app was removed there, or switched off. ``schema_version``: what it said last of its
    version, ``3.23`` when it installed us, ``3.23.28`` from its first webhook on.
    """

    __tablename__: ClassVar[Any] = "installation"
    __table_args__ = (partial_index("next_check_at IS NOT NULL", "ix_installation_next_check_at", "next_check_at"),)

    id: int | None = Field(default=None, primary_key=True)
    saleor_api_url: str = Field(unique=True, max_length=500)
    saleor_domain: str = Field(default="", max_length=255)
    schema_version: str | None = Field(default=None, max_length=20)
    app_id: str | None = Field(default=None, max_length=100)
    dashboard_url: str | None = Field(default=None, max_length=500)  # as the operator says; None: not said
    staff_dashboard_url: str | None = Field(default=None, max_length=500)  # as the store's staff say
    problems_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when told problems are compared next
    days_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when its days that are over are summed next
    retention_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when outdated data are erased next
    token_sealed: str | None = Field(default=None, sa_type=Text)
    away_since: datetime | None = Field(default=None, sa_type=Moment)
    revived_at: datetime | None = Field(default=None, sa_type=Moment)
    unauthorised_since: datetime | None = Field(default=None, sa_type=Moment)
    next_check_at: datetime | None = Field(default=None, sa_type=Moment)  # when it is asked whether the token is good
    jwks: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    jwks_fetched_at: datetime | None = Field(default=None, sa_type=Moment)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class PendingToken(SQLModel, table=True):
    """A token that somebody brought in the name of a Saleor, which that Saleor has not confirmed."""

    __tablename__: ClassVar[Any] = "pending_token"

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    schema_version: str | None = Field(default=None, max_length=20)
    token_sealed: str = Field(sa_type=Text)
    received_at: datetime = Field(sa_type=Moment)


class ReportedProblem(SQLModel, table=True):
    """A problem that a Saleor shows of the app, because we told it so. The app is another one after a re-install."""

    __tablename__: ClassVar[Any] = "reported_problem"

    installation_id: int = Field(foreign_key="installation.id", primary_key=True)
    key: str = Field(primary_key=True, max_length=128)
    app_id: str = Field(max_length=100)
    told_at: datetime = Field(sa_type=Moment)


class MerchantAccount(SQLModel, table=True):
    """One point of sale at the gateway, with its keys. Never deleted while a payment refers to it: it is disabled.

    ``id`` is public: it is in the address at which the gateway notifies us.
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
    previous_api_secret_until: datetime | None = Field(default=None, sa_type=Moment)  # verifies nothing after that
    endpoints_key_sealed: str = Field(sa_type=Text)
    currencies: list[str] = Field(sa_type=JSON)
    storefront_origins: list[str] = Field(sa_type=JSON)
    shop_name: str | None = Field(default=None, max_length=60)  # on the pages of shoppers, with the next two
    shop_logo: str | None = Field(default=None, max_length=500)  # the https address of an image
    shop_color: str | None = Field(default=None, max_length=7)  # of buttons, like #1a2b3c
    order_timeout: int = Field(default=3600)  # seconds that a shopper has to pay
    order_3ds_bypass: str = Field(default="supported", max_length=20)
    names_required: bool = Field(default=True)  # refuse a payment whose shopper has no first and last name
    sector: str = Field(default="general", max_length=20)  # the gateway asks more of some merchants
    merchant_mcc: str | None = Field(default=None, max_length=4)
    description_template: str | None = Field(default=None, max_length=500)  # what the payment is called at the gateway
    products: ProductsForm = Field(default=ProductsForm.NONE, sa_type=one_of(ProductsForm))
    receipt_delivery: str | None = Field(default=None, max_length=10)  # how the fiscal receipt reaches the shopper
    cancel_older: bool = Field(default=True)  # a new attempt to pay closes the older unpaid pages of the same checkout
    pci_dss_confirmed_at: datetime | None = Field(default=None, sa_type=Moment)  # None: no cards in the storefront
    subscriptions: bool = Field(default=False)  # a payment may begin one, by fields that the interface does not show
    saved_cards: bool = Field(default=False)  # customers who agree have their cards kept for the next time
    apple_pay: bool = Field(default=False)  # offered to storefronts
    apple_pay_association: str | None = Field(default=None, sa_type=Text)  # the file by which Apple knows the domain
    google_pay: bool = Field(default=False)  # offered to storefronts, if the next two are there
    google_pay_gateway: str | None = Field(default=None, max_length=100)  # what Google calls the gateway
    google_pay_gateway_merchant: str | None = Field(default=None, max_length=100)  # what that calls the merchant
    google_pay_merchant: str | None = Field(default=None, max_length=100)  # what Google calls the merchant
    balances_url: str | None = Field(default=None, max_length=500)  # None: where payments are
    register_url: str | None = Field(default=None, max_length=500)  # None: where payments are
    reconcile_at: int = Field(default=2)  # hour of the day, UTC, at which the books are compared with the gateway's
    split_rules: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # None: nothing is split
    payouts: bool = Field(default=False)  # staff may pay out to cards, within both limits
    payout_most: Decimal | None = Field(default=None, sa_type=Amount)  # None: nothing is paid out
    payout_most_a_day: Decimal | None = Field(default=None, sa_type=Amount)  # of any 24 hours; None: nothing
    payout_staff: list[str] = Field(default_factory=list, sa_type=JSON)  # by their e-mail addresses in Saleor
    test_project: bool = Field(default=False)  # as its owner says: the gateway does not tell
    enabled: bool = Field(default=True)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)

    @property
    def pays_out(self) -> bool:
        """Whether payouts to cards are switched on, with both limits."""
        return self.enabled and self.payouts and None not in (self.payout_most, self.payout_most_a_day)


class ChannelRoute(SQLModel, table=True):
    """Which merchant account takes the money of a Saleor channel."""

    __tablename__: ClassVar[Any] = "channel_route"
    __table_args__ = (UniqueConstraint("installation_id", "channel"),)

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    channel: str = Field(max_length=255)
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
    """A card that a customer has agreed to keep with one merchant account: the gateway's token of it, sealed.

    ``id`` is what storefronts call it. It cannot be guessed, and yet nobody is taken for the owner because of it: that
    is ``user_id``, Saleor's id of the customer. A card is known again by its ``mask`` (first six digits, last four), as
    the gateway may give another token each time. ``expires_at`` is the token's end; None when the gateway has not said.
    ``unusable_since``: the gateway takes it no more, so it is not listed.
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
    """A customer whom Saleor has deleted: of a payment that they had agreed to before, no card is kept any more.

    Saleor gives an id once, so that this holds for ever.
    """

    __tablename__: ClassVar[Any] = "deleted_customer"

    installation_id: int = Field(foreign_key="installation.id", primary_key=True)
    user_id: str = Field(primary_key=True, max_length=100)
    deleted_at: datetime = Field(sa_type=Moment)
