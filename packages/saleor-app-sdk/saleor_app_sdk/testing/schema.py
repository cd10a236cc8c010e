"""The part of Saleor's GraphQL schema that payment apps and paying storefronts use, with Saleor's own definitions."""

from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any
from uuid import UUID

from graphql import GraphQLError, GraphQLScalarType, GraphQLSchema, ValueNode, build_schema, value_from_ast_untyped

from saleor_app_sdk.testing.vocabulary import WebhookEvent

_SDL = """
scalar DateTime
scalar UUID
scalar PositiveDecimal
scalar JSON

interface Node { id: ID! }

type Query {
  app(id: ID): App
  channels: [Channel!]
  shop: Shop!
  transaction(id: ID, token: UUID): TransactionItem
  order(id: ID): Order
  checkout(id: ID): Checkout
  me: User
}

type Mutation {
  transactionEventReport(
    amount: PositiveDecimal
    availableActions: [TransactionActionEnum!]
    externalUrl: String
    id: ID
    message: String
    %(method_argument)s
    pspReference: String!
    time: DateTime
    token: UUID
    transactionMetadata: [MetadataInput!]
    transactionPrivateMetadata: [MetadataInput!]
    type: TransactionEventTypeEnum!
  ): TransactionEventReport
  transactionUpdate(id: ID, token: UUID, transaction: TransactionUpdateInput): TransactionUpdate
  transactionInitialize(
    amount: PositiveDecimal
    id: ID!
    idempotencyKey: String
    paymentGateway: PaymentGatewayToInitialize!
  ): TransactionInitialize
  transactionProcess(id: ID, token: UUID, data: JSON): TransactionProcess
  paymentGatewayInitialize(
    amount: PositiveDecimal
    id: ID!
    paymentGateways: [PaymentGatewayToInitialize!]
  ): PaymentGatewayInitialize
  checkoutComplete(id: ID): CheckoutComplete
  storedPaymentMethodRequestDelete(id: ID!, channel: String!): StoredPaymentMethodRequestDelete
  transactionRequestRefundForGrantedRefund(
    grantedRefundId: ID!
    id: ID
    token: UUID
  ): TransactionRequestRefundForGrantedRefund
  updateMetadata(id: ID!, input: [MetadataInput!]!): UpdateMetadata
  updatePrivateMetadata(id: ID!, input: [MetadataInput!]!): UpdatePrivateMetadata
  deletePrivateMetadata(id: ID!, keys: [String!]!): DeletePrivateMetadata
  webhookCreate(input: WebhookCreateInput!): WebhookCreate
  webhookUpdate(id: ID!, input: WebhookUpdateInput!): WebhookUpdate
  webhookDelete(id: ID!): WebhookDelete
  %(problem_mutations)s
}

type Shop { version: String schemaVersion: String! name: String! domain: Domain! }
type Domain { host: String! url: String! }

type App implements Node & ObjectWithMetadata {
  id: ID!
  identifier: String
  name: String
  version: String
  isActive: Boolean
  appUrl: String
  manifestUrl: String
  permissions: [Permission!]
  webhooks: [Webhook!]
  extensions: [AppExtension!]!
  metadata: [MetadataItem!]!
  privateMetadata: [MetadataItem!]!
}
type Permission { code: PermissionEnum! name: String! }
enum PermissionEnum {
  HANDLE_PAYMENTS HANDLE_CHECKOUTS MANAGE_CHECKOUTS MANAGE_ORDERS MANAGE_USERS MANAGE_APPS MANAGE_SETTINGS
  MANAGE_CHANNELS MANAGE_PRODUCTS MANAGE_GIFT_CARD MANAGE_TAXES MANAGE_STAFF
}
type Webhook implements Node {
  id: ID!
  name: String
  targetUrl: String!
  isActive: Boolean!
  subscriptionQuery: String
  syncEvents: [WebhookEventSync!]!
  asyncEvents: [WebhookEventAsync!]!
}
type WebhookEventSync { name: String! eventType: WebhookEventTypeSyncEnum! }
type WebhookEventAsync { name: String! eventType: WebhookEventTypeAsyncEnum! }
enum WebhookEventTypeSyncEnum { %(sync_events)s }
enum WebhookEventTypeAsyncEnum { %(async_events)s }
type AppExtension implements Node { id: ID! label: String! url: String! permissions: [Permission!]! %(extension)s }
input WebhookCreateInput {
  name: String
  targetUrl: String
  isActive: Boolean
  query: String
  syncEvents: [WebhookEventTypeSyncEnum!]
  asyncEvents: [WebhookEventTypeAsyncEnum!]
}
input WebhookUpdateInput {
  name: String
  targetUrl: String
  isActive: Boolean
  query: String
  syncEvents: [WebhookEventTypeSyncEnum!]
  asyncEvents: [WebhookEventTypeAsyncEnum!]
}
type WebhookCreate { webhook: Webhook errors: [WebhookError!]! }
type WebhookUpdate { webhook: Webhook errors: [WebhookError!]! }
type WebhookDelete { webhook: Webhook errors: [WebhookError!]! }
type WebhookError { field: String message: String code: WebhookErrorCode! }
enum WebhookErrorCode {
  GRAPHQL_ERROR INVALID NOT_FOUND REQUIRED UNIQUE DELETE_FAILED SYNTAX MISSING_SUBSCRIPTION UNABLE_TO_PARSE
  MISSING_EVENT INVALID_CUSTOM_HEADERS INVALID_NOTIFY_WITH_SUBSCRIPTION
}
type MetadataItem { key: String! value: String! }
type Money { amount: Float! currency: String! }

enum TransactionActionEnum { CHARGE REFUND CANCEL }
enum TransactionEventTypeEnum {
  AUTHORIZATION_SUCCESS AUTHORIZATION_FAILURE AUTHORIZATION_ADJUSTMENT AUTHORIZATION_REQUEST
  AUTHORIZATION_ACTION_REQUIRED CHARGE_ACTION_REQUIRED CHARGE_SUCCESS CHARGE_FAILURE CHARGE_BACK CHARGE_REQUEST
  REFUND_SUCCESS REFUND_FAILURE REFUND_REVERSE REFUND_REQUEST CANCEL_SUCCESS CANCEL_FAILURE CANCEL_REQUEST INFO
}

type TransactionEvent implements Node {
  id: ID!
  createdAt: DateTime!
  pspReference: String!
  message: String!
  externalUrl: String!
  amount: Money!
  type: TransactionEventTypeEnum
  idempotencyKey: String
}
type TransactionItem implements Node {
  id: ID!
  token: UUID!
  name: String!
  message: String!
  pspReference: String!
  externalUrl: String!
  createdAt: DateTime!
  modifiedAt: DateTime!
  actions: [TransactionActionEnum!]!
  authorizedAmount: Money!
  authorizePendingAmount: Money!
  chargedAmount: Money!
  chargePendingAmount: Money!
  refundedAmount: Money!
  refundPendingAmount: Money!
  canceledAmount: Money!
  cancelPendingAmount: Money!
  events: [TransactionEvent!]!
  metadata: [MetadataItem!]!
  privateMetadata: [MetadataItem!]!
  checkout: Checkout
  order: Order
}
type Checkout implements Node {
  id: ID! token: UUID! email: String channel: Channel! totalPrice: TaxedMoney! totalBalance: Money!
  chargeStatus: String! authorizeStatus: String! transactions: [TransactionItem!]
}
type User implements Node { id: ID! storedPaymentMethods(channel: String!): [StoredPaymentMethod!] }
type StoredPaymentMethod { id: ID! type: String! name: String creditCardInfo: CreditCard paymentMethodId: String! }
type CreditCard { brand: String! firstDigits: String lastDigits: String! expMonth: Int expYear: Int }
type StoredPaymentMethodRequestDelete { result: String! errors: [PaymentMethodRequestDeleteError!]! }
type PaymentMethodRequestDeleteError { field: String message: String code: String! }
type Order implements Node & ObjectWithMetadata {
  id: ID! checkoutId: ID
  metadata: [MetadataItem!]!
  number: String!
  userEmail: String
  languageCodeEnum: LanguageCodeEnum!
  status: OrderStatus!
  channel: Channel!
  total: TaxedMoney!
  totalBalance: Money!
  totalAuthorized: Money!
  totalCharged: Money!
  transactions: [TransactionItem!]!
  grantedRefunds: [OrderGrantedRefund!]!
}
# Some of Saleor's many.
enum LanguageCodeEnum { DE EN ES FR IT PL PT PT_BR RO SK UK }
enum OrderGrantedRefundStatusEnum { NONE PENDING SUCCESS FAILURE }
type OrderGrantedRefund {
  id: ID!
  amount: Money!
  reason: String
  shippingCostsIncluded: Boolean!
  status: OrderGrantedRefundStatusEnum!
  transactionEvents: [TransactionEvent!]
  transaction: TransactionItem
}
type TaxedMoney { currency: String! gross: Money! net: Money! tax: Money! }
enum OrderStatus {
  DRAFT UNCONFIRMED UNFULFILLED PARTIALLY_FULFILLED PARTIALLY_RETURNED RETURNED FULFILLED CANCELED EXPIRED
}
type Channel implements Node {
  id: ID! slug: String! name: String! currencyCode: String! isActive: Boolean!
}

input MetadataInput { key: String! value: String! }

type TransactionEventReport {
  alreadyProcessed: Boolean
  transaction: TransactionItem
  transactionEvent: TransactionEvent
  errors: [TransactionEventReportError!]!
}
type TransactionEventReportError { field: String message: String code: TransactionEventReportErrorCode! }
enum TransactionEventReportErrorCode {
  INVALID GRAPHQL_ERROR NOT_FOUND INCORRECT_DETAILS ALREADY_EXISTS REQUIRED
}

input TransactionUpdateInput {
  name: String
  message: String
  pspReference: String
  availableActions: [TransactionActionEnum!]
  externalUrl: String
  metadata: [MetadataInput!]
  privateMetadata: [MetadataInput!]
}
interface ObjectWithMetadata { metadata: [MetadataItem!]! }
type UpdateMetadata { item: ObjectWithMetadata errors: [MetadataError!]! }
type UpdatePrivateMetadata { item: ObjectWithMetadata errors: [MetadataError!]! }
type DeletePrivateMetadata { item: ObjectWithMetadata errors: [MetadataError!]! }
type MetadataError { field: String message: String code: MetadataErrorCode! }
enum MetadataErrorCode { GRAPHQL_ERROR INVALID NOT_FOUND REQUIRED NOT_UPDATED }
type TransactionUpdate { transaction: TransactionItem errors: [TransactionUpdateError!]! }
type TransactionUpdateError { field: String message: String code: TransactionUpdateErrorCode! }
enum TransactionUpdateErrorCode { INVALID GRAPHQL_ERROR NOT_FOUND REQUIRED }

input PaymentGatewayToInitialize { id: String! data: JSON }
type TransactionInitialize {
  transaction: TransactionItem
  transactionEvent: TransactionEvent
  data: JSON
  errors: [TransactionInitializeError!]!
}
type TransactionProcess {
  transaction: TransactionItem
  transactionEvent: TransactionEvent
  data: JSON
  errors: [TransactionProcessError!]!
}
type PaymentGatewayInitialize {
  gatewayConfigs: [PaymentGatewayConfig!]
  errors: [PaymentGatewayInitializeError!]!
}
type PaymentGatewayConfig { id: String! data: JSON errors: [PaymentGatewayConfigError!] }
type PaymentGatewayConfigError { field: String message: String code: PaymentGatewayConfigErrorCode! }
type PaymentGatewayInitializeError { field: String message: String code: PaymentGatewayConfigErrorCode! }
enum PaymentGatewayConfigErrorCode { GRAPHQL_ERROR INVALID NOT_FOUND }
type CheckoutComplete { order: Order errors: [CheckoutError!]! }
type CheckoutError { field: String message: String code: CheckoutErrorCode! }
enum CheckoutErrorCode { CHECKOUT_NOT_FULLY_PAID GRAPHQL_ERROR INVALID NOT_FOUND }
type TransactionRequestRefundForGrantedRefund {
  transaction: TransactionItem
  errors: [TransactionRequestRefundForGrantedRefundError!]!
}
type TransactionRequestRefundForGrantedRefundError {
  field: String message: String code: TransactionRequestRefundForGrantedRefundErrorCode!
}
enum TransactionRequestRefundForGrantedRefundErrorCode {
  INVALID GRAPHQL_ERROR NOT_FOUND AMOUNT_GREATER_THAN_AVAILABLE MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK
  REFUND_ALREADY_PROCESSED REFUND_IS_PENDING
}
type TransactionProcessError { field: String message: String code: TransactionInitializeErrorCode! }
type TransactionInitializeError { field: String message: String code: TransactionInitializeErrorCode! }
enum TransactionInitializeErrorCode { GRAPHQL_ERROR INVALID NOT_FOUND UNIQUE CHECKOUT_COMPLETION_IN_PROGRESS }
"""

# Until 3.22 the core itself had enums of all mounts and targets.
_MOUNTS = "mount: String! target: String!"
_MOUNT_NAMES = "mountName: String! targetName: String!"
_PAYMENT_METHOD_DETAILS = """
input PaymentMethodDetailsInput {
  card: CardPaymentMethodDetailsInput
  other: OtherPaymentMethodDetailsInput
  %(gift_card)s
}
input CardPaymentMethodDetailsInput {
  name: String! brand: String firstDigits: String lastDigits: String expMonth: Int expYear: Int
}
input OtherPaymentMethodDetailsInput { name: String! }
"""
_GIFT_CARD = "input GiftCardPaymentMethodDetailsInput { name: String! brand: String lastChars: String }"

_PROBLEMS = """
scalar PositiveInt
input AppProblemCreateInput {
  message: String! key: String! criticalThreshold: PositiveInt aggregationPeriod: Minute = 60
}
scalar Minute
type AppProblem implements Node { id: ID! message: String! key: String! count: Int! isCritical: Boolean! }
type AppProblemCreate { appProblem: AppProblem errors: [AppProblemCreateError!]! }
type AppProblemCreateError { field: String message: String code: AppProblemCreateErrorCode! }
enum AppProblemCreateErrorCode { GRAPHQL_ERROR INVALID NOT_FOUND REQUIRED }
input AppProblemDismissInput { byApp: AppProblemDismissByAppInput }
input AppProblemDismissByAppInput { ids: [ID!] keys: [String!] }
type AppProblemDismiss { errors: [AppProblemDismissError!]! }
type AppProblemDismissError { field: String message: String code: AppProblemDismissErrorCode! }
enum AppProblemDismissErrorCode { GRAPHQL_ERROR INVALID NOT_FOUND REQUIRED }
"""
_PROBLEMS_SINCE = (3, 22, 36)
_PROBLEM_MUTATIONS = """
  appProblemCreate(input: AppProblemCreateInput!): AppProblemCreate
  appProblemDismiss(input: AppProblemDismissInput!): AppProblemDismiss
"""


def _type_error(type_name: str, found: Any) -> GraphQLError:
    return GraphQLError(f'Expected type "{type_name}", found {found!r}.')


def _decimal(value: Any) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation as exc:
        raise _type_error("PositiveDecimal", value) from exc
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        raise _type_error("PositiveDecimal", value)
    return amount


def _datetime(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as exc:
        raise _type_error("DateTime", value) from exc


def _uuid(value: Any) -> str:
    try:
        return str(UUID(value))
    except (AttributeError, TypeError, ValueError) as exc:
        raise _type_error("UUID", value) from exc


_PARSERS = {"PositiveDecimal": _decimal, "DateTime": _datetime, "UUID": _uuid}


@cache
def schema(release: tuple[int, ...]) -> GraphQLSchema:
    """Return the schema of a release, for example (3, 23, 28)."""
    parts = [
        _SDL
        % {
            "method_argument": "paymentMethodDetails: PaymentMethodDetailsInput" if release >= (3, 22) else "",
            "problem_mutations": _PROBLEM_MUTATIONS if release >= _PROBLEMS_SINCE else "",
            "sync_events": " ".join(event.enum_name for event in WebhookEvent if not event.asynchronous),
            "async_events": " ".join(event.enum_name for event in WebhookEvent if event.asynchronous),
            "extension": f"{_MOUNTS if release < (3, 23) else ''} {_MOUNT_NAMES if release >= (3, 22) else ''}",
        }
    ]
    if release >= (3, 22):
        gift_card = "giftCard: GiftCardPaymentMethodDetailsInput" if release >= (3, 23) else ""
        parts.append(_PAYMENT_METHOD_DETAILS % {"gift_card": gift_card})
    if release >= _PROBLEMS_SINCE:
        parts.append(_PROBLEMS)
    if release >= (3, 23):
        parts.append(_GIFT_CARD)
    built = build_schema("\n".join(parts))
    for name, parse in _PARSERS.items():
        scalar = built.type_map[name]
        if isinstance(scalar, GraphQLScalarType):
            _set_parser(scalar, parse)
    return built


def _set_parser(scalar: GraphQLScalarType, parse: Any) -> None:
    """Make a scalar of the SDL parse values in variables and in documents the same way."""

    def from_document(node: ValueNode) -> Any:
        return parse(value_from_ast_untyped(node))

    scalar.coerce_input_value = parse
    scalar.coerce_input_literal = from_document
