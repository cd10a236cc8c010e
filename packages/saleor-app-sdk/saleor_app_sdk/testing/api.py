"""``POST /graphql/``: queries and mutations for apps (Saleor contract, A.7) and for paying storefronts."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLResolveInfo,
    execute,
    get_operation_ast,
    parse,
    validate,
)
from graphql.execution import get_variable_values

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.ids import InvalidIdError, channel_id, global_id, key_of
from saleor_app_sdk.testing.metadata_api import PrivateMetadataApi
from saleor_app_sdk.testing.records import App, Order, Transaction
from saleor_app_sdk.testing.rules.problems import ProblemRefusedError, add_problem, dismiss_problems
from saleor_app_sdk.testing.rules.recording import update_available_actions
from saleor_app_sdk.testing.rules.reports import Report, ReportRefusedError, record_report
from saleor_app_sdk.testing.saleor_state import NotFoundError, PermissionDeniedError, ReceivedReport, SaleorState
from saleor_app_sdk.testing.schema import schema
from saleor_app_sdk.testing.selection import FieldFailedError
from saleor_app_sdk.testing.settings import SaleorFaults
from saleor_app_sdk.testing.staff import Staff
from saleor_app_sdk.testing.stored_methods import StoredMethods
from saleor_app_sdk.testing.storefront import Storefront
from saleor_app_sdk.testing.storefront_api import StorefrontApi
from saleor_app_sdk.testing.views import ErrorView
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, MANAGE_ORDERS, EventType
from saleor_app_sdk.testing.webhooks_api import WebhooksApi

Info = GraphQLResolveInfo[Any]

_COST = {"cost": {"requestedQueryCost": 0, "maximumAvailable": 50000}}


class Api:
    """Executes GraphQL requests, with or without an app's token."""

    def __init__(self, state: SaleorState, storefront: Storefront, staff: Staff, stored_methods: StoredMethods) -> None:
        self._state = state
        self._staff = staff
        self._root: dict[str, Any] = {
            "app": self._app,
            "shop": self._shop,
            "channels": self._channels,
            "transaction": self._transaction,
            "order": self._order,
            "transactionEventReport": self._report_event,
            "transactionUpdate": self._update_transaction,
            "updateMetadata": self._update_metadata,
            **StorefrontApi(state, storefront, stored_methods).resolvers(),
            "transactionRequestRefundForGrantedRefund": self._request_refund_for_granted_refund,
            **PrivateMetadataApi(self._own_app).resolvers(),
            **WebhooksApi(state, self._authenticated_app).resolvers(),
            "appProblemCreate": self._create_problem,
            "appProblemDismiss": self._dismiss_problem,
        }

    async def handle(self, request: Any, token: str | None, faults: SaleorFaults) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and body for a GraphQL request (a JSON object) with this token."""
        if faults.graphql_delay:
            await asyncio.sleep(faults.graphql_delay)
        if faults.graphql_internal_error:
            error = {"message": "Internal Server Error", "extensions": {"exception": {"code": "Exception"}}}
            return 200, {"errors": [error], "data": None}
        if not isinstance(request, Mapping) or not isinstance(request.get("query"), str):
            return 400, {"errors": [_format_error(GraphQLError("Must provide a query string."))]}
        return await self._execute(
            request["query"], request.get("variables") or {}, request.get("operationName"), token
        )

    async def _execute(
        self, query: str, variables: dict[str, Any], operation_name: str | None, token: str | None
    ) -> tuple[int, dict[str, Any]]:
        graphql_schema = schema(self._state.settings.release)
        try:
            document, errors = _parse_and_validate(self._state.settings.release, query)
        except GraphQLError as exc:
            return 400, {"errors": [_format_error(exc)]}
        operation = get_operation_ast(document, operation_name)
        if not errors and operation is not None:
            values = get_variable_values(graphql_schema, operation.variable_definitions or (), variables)
            errors = values if isinstance(values, list) else []
        if errors or operation is None:
            return 400, {"errors": [_format_error(error) for error in errors or [GraphQLError("Unknown operation.")]]}
        result = execute(
            graphql_schema,
            document,
            root_value=self._root,
            context_value=token,
            variable_values=variables,
            operation_name=operation_name,
        )
        return 200, _response_body(await result if isinstance(result, Awaitable) else result)

    def _authenticated_app(self, info: Info) -> App:
        app = self._state.app_by_token(info.context)
        if app is None:
            raise PermissionDeniedError("AUTHENTICATED_STAFF_USER", "AUTHENTICATED_APP")
        return app

    def _payments_app(self, info: Info) -> App:
        app = self._app_with(info, HANDLE_PAYMENTS)
        if app is None:
            raise PermissionDeniedError(HANDLE_PAYMENTS)
        return app

    def _app_with(self, info: Info, *any_of: str) -> App | None:
        """Return the requesting app if it has one of these permissions; None otherwise."""
        app = self._state.app_by_token(info.context)
        return app if app is not None and not set(any_of).isdisjoint(app.permissions) else None

    def _app(self, info: Info, **arguments: Any) -> payload.Payload:
        return payload.app(self._own_app(info, arguments.get("id")))

    def _own_app(self, info: Info, app_id: str | None) -> App:
        """Return the requesting app. Any other app requires MANAGE_APPS, which no app has."""
        app = self._authenticated_app(info)
        if app_id not in {None, app.id}:
            raise PermissionDeniedError("MANAGE_APPS")
        return app

    def _shop(self, info: Info) -> payload.Payload:
        settings = self._state.settings
        self._authenticated_app(info)
        domain = {"host": settings.domain, "url": settings.public_url}
        return {"version": settings.version, "schemaVersion": settings.schema_version, "name": "Shop", "domain": domain}

    def _channels(self, info: Info) -> list[payload.Payload]:
        self._authenticated_app(info)
        return [
            {
                "id": channel.id or channel_id(channel.slug),
                "slug": channel.slug,
                "name": channel.name,
                "currencyCode": channel.currency,
                "isActive": channel.active,
            }
            for channel in self._state.settings.channels
        ]

    def _transaction(self, info: Info, **arguments: Any) -> payload.Payload | None:
        self._payments_app(info)
        try:
            return self._transaction_payload(self._find_transaction(arguments))
        except NotFoundError:
            return None

    def _order(self, _info: Info, **arguments: Any) -> payload.Payload | None:
        key_of("Order", arguments.get("id") or "")
        try:
            return self._order_payload(self._state.order(arguments["id"]))
        except NotFoundError:
            return None

    def _transaction_payload(self, item: Transaction) -> payload.Payload:
        """Return a transaction with its order, if it belongs to one."""
        return {**payload.transaction(item), "order": self._order_payload(item.order) if item.order else None}

    def _order_payload(self, order: Order) -> payload.Payload:
        """Return an order, readable by all who know its id; transactions and granted refunds require a permission."""

        def transactions(info: Info) -> list[payload.Payload]:
            if self._app_with(info, HANDLE_PAYMENTS, MANAGE_ORDERS) is None:
                raise PermissionDeniedError(MANAGE_ORDERS, HANDLE_PAYMENTS)
            return [self._transaction_payload(transaction) for transaction in order.transactions]

        def granted_refunds(info: Info) -> list[payload.Payload]:
            if self._app_with(info, MANAGE_ORDERS) is None:
                raise PermissionDeniedError(MANAGE_ORDERS)
            return [payload.granted_refund(refund) for refund in order.granted_refunds]

        return {**payload.source(order), "transactions": transactions, "grantedRefunds": granted_refunds}

    def _find_transaction(self, arguments: Mapping[str, Any]) -> Transaction:
        """Return the transaction of ``id`` or ``token``; raise InvalidIdError or NotFoundError."""
        token = arguments.get("token") or key_of("TransactionItem", arguments.get("id") or "")
        return self._state.transaction(global_id("TransactionItem", token))

    def _own_transaction(self, arguments: Mapping[str, Any], app: App) -> Transaction:
        transaction = self._find_transaction(arguments)
        if transaction.app_identifier != app.identifier:
            raise PermissionDeniedError("OWNER", HANDLE_PAYMENTS)
        return transaction

    def _report_event(self, info: Info, **arguments: Any) -> payload.Payload:
        app = self._payments_app(info)
        state = self._state
        received = ReceivedReport(
            len(state.reports) + 1, state.event_clock.now(), app.identifier, _json_arguments(arguments)
        )
        state.reports.append(received)
        empty = {"alreadyProcessed": None, "transaction": None, "transactionEvent": None}
        try:
            transaction = self._own_transaction(arguments, app)
            event, already_processed = record_report(
                transaction, _parse_report(arguments), state.transactions.values(), state.event_clock
            )
        except ReportRefusedError as refused:
            error = ErrorView(field=refused.field, code=refused.code, message=str(refused))
        except NotFoundError:
            message = f"Couldn't resolve to a node: {arguments.get('id') or arguments.get('token')}"
            error = ErrorView(field="id", code="NOT_FOUND", message=message)
        else:
            received.already_processed, received.event = already_processed, event
            return {
                "alreadyProcessed": already_processed,
                "transaction": self._transaction_payload(transaction),
                "transactionEvent": payload.event(event, transaction.currency),
                "errors": [],
            }
        received.errors.append(error)
        return {**empty, "errors": [error.model_dump()]}

    def _update_transaction(self, info: Info, **arguments: Any) -> payload.Payload:
        app = self._payments_app(info)
        try:
            transaction = self._own_transaction(arguments, app)
        except NotFoundError as exc:
            error = {"field": "id", "code": "NOT_FOUND", "message": str(exc)}
            return {"transaction": None, "errors": [error]}
        fields = arguments.get("transaction") or {}
        transaction.name = fields.get("name", transaction.name) or ""
        transaction.message = fields.get("message", transaction.message) or ""
        transaction.psp_reference = fields.get("pspReference", transaction.psp_reference)
        transaction.external_url = fields.get("externalUrl", transaction.external_url) or ""
        if "availableActions" in fields:
            update_available_actions(transaction, fields["availableActions"])
            transaction.unreadable = False
        transaction.metadata.update(_pairs(fields.get("metadata")) or {})
        transaction.private_metadata.update(_pairs(fields.get("privateMetadata")) or {})
        transaction.modified_at = self._state.event_clock.now()
        return {"transaction": self._transaction_payload(transaction), "errors": []}

    def _update_metadata(self, info: Info, **arguments: Any) -> payload.Payload:
        """Add to the public metadata of an order. Other objects of this Saleor have none that can be changed so."""
        if self._app_with(info, MANAGE_ORDERS) is None:
            raise PermissionDeniedError(MANAGE_ORDERS)
        try:
            order = self._state.order(arguments["id"])
        except NotFoundError as exc:
            return {"item": None, "errors": [{"field": "id", "code": "NOT_FOUND", "message": str(exc)}]}
        order.basket.metadata.update(_pairs(arguments["input"]) or {})
        return {"item": self._order_payload(order), "errors": []}

    def _request_refund_for_granted_refund(self, info: Info, **arguments: Any) -> payload.Payload:
        """Request a granted refund: an app may do so itself, as staff do in the Dashboard (Saleor contract, A.10)."""
        self._payments_app(info)
        granted_refund_id, transaction_id = arguments["grantedRefundId"], None
        key_of("OrderGrantedRefund", granted_refund_id)
        try:
            if arguments.get("id") or arguments.get("token"):
                transaction_id = self._find_transaction(arguments).id
            outcome = self._staff.request_refund_for_granted_refund(granted_refund_id, transaction_id)
        except NotFoundError as exc:
            error = {"field": "grantedRefundId", "code": "NOT_FOUND", "message": str(exc)}
            return {"transaction": None, "errors": [error]}
        if outcome.errors or outcome.granted_refund is None or outcome.granted_refund.transaction_id is None:
            return {"transaction": None, "errors": [error.model_dump() for error in outcome.errors]}
        transaction = self._state.transaction(outcome.granted_refund.transaction_id)
        return {"transaction": self._transaction_payload(transaction), "errors": []}

    def _create_problem(self, info: Info, **arguments: Any) -> payload.Payload:
        app, fields = self._authenticated_app(info), arguments["input"]
        try:
            problem = add_problem(
                app.reported_problems,
                new_id=global_id("AppProblem", next(self._state.problem_numbers)),
                key=fields["key"],
                message=fields["message"],
                threshold=fields.get("criticalThreshold"),
                aggregation_minutes=fields["aggregationPeriod"],
                now=self._state.event_clock.now(),
            )
        except ProblemRefusedError as refused:
            return {"appProblem": None, "errors": [_problem_error(refused)]}
        return {"appProblem": problem.to_payload(), "errors": []}

    def _dismiss_problem(self, info: Info, **arguments: Any) -> payload.Payload:
        app, selector = self._authenticated_app(info), arguments["input"].get("byApp") or {}
        try:
            dismiss_problems(app.reported_problems, ids=selector.get("ids"), keys=selector.get("keys"))
        except ProblemRefusedError as refused:
            return {"errors": [_problem_error(refused)]}
        return {"errors": []}


@lru_cache(maxsize=32)
def _parse_and_validate(release: tuple[int, ...], query: str) -> tuple[DocumentNode, list[GraphQLError]]:
    """Return the parsed document and its validation errors, cached: an app sends the same few documents repeatedly."""
    document = parse(query)
    return document, validate(schema(release), document)


def _problem_error(error: ProblemRefusedError) -> dict[str, str]:
    return {"field": error.field, "code": error.code, "message": str(error)}


def _parse_report(arguments: Mapping[str, Any]) -> Report:
    time: datetime | None = arguments.get("time")
    return Report(
        type=EventType(arguments["type"]),
        psp_reference=arguments["pspReference"],
        amount=arguments.get("amount"),
        time=time.replace(tzinfo=UTC) if time and time.tzinfo is None else time,
        message=arguments.get("message"),
        external_url=arguments.get("externalUrl"),
        actions=arguments.get("availableActions"),
        metadata=_pairs(arguments.get("transactionMetadata")),
        private_metadata=_pairs(arguments.get("transactionPrivateMetadata")),
        method_details=arguments.get("paymentMethodDetails"),
    )


def _pairs(items: Any) -> dict[str, str] | None:
    return None if items is None else {item["key"]: item["value"] for item in items}


def _json_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as JSON values for tests: times as text."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in arguments.items()}


def _response_body(result: ExecutionResult) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [_format_error(error) for error in result.errors]
    return {**body, "data": result.data, "extensions": _COST}


def _format_error(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error
    denied = isinstance(cause, PermissionDeniedError)
    expected = denied or isinstance(cause, (InvalidIdError, FieldFailedError)) or cause is None
    code = "PermissionDenied" if denied else "GraphQLError" if expected else type(cause).__name__
    formatted: dict[str, Any] = {"message": error.message if expected else "Internal Server Error"}
    if error.locations:
        formatted["locations"] = [{"line": location.line, "column": location.column} for location in error.locations]
    if error.path:
        formatted["path"] = error.path
    return {**formatted, "extensions": {"exception": {"code": code}}}
