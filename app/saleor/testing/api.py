"""``POST /graphql/``: what an app may ask and tell (Saleor contract, A.7), and what storefronts pay with."""

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

from app.saleor.testing import payload
from app.saleor.testing.ids import InvalidIdError, global_id, key_of
from app.saleor.testing.records import App, Order, Transaction
from app.saleor.testing.rules.problems import ProblemRefusedError, add_problem, dismiss_problems
from app.saleor.testing.rules.recording import offer
from app.saleor.testing.rules.reports import Report, ReportRefusedError, record_report
from app.saleor.testing.saleor_state import ArrivedReport, NotFoundError, SaleorState
from app.saleor.testing.schema import schema
from app.saleor.testing.selection import FieldFailedError
from app.saleor.testing.settings import SaleorFaults
from app.saleor.testing.staff import Staff
from app.saleor.testing.storefront import Storefront
from app.saleor.testing.storefront_api import StorefrontApi
from app.saleor.testing.views import ErrorView
from app.saleor.testing.vocabulary import HANDLE_PAYMENTS, MANAGE_ORDERS, EventType
from app.saleor.testing.webhooks_api import WebhooksApi

Info = GraphQLResolveInfo[Any]

_COST = {"cost": {"requestedQueryCost": 0, "maximumAvailable": 50000}}


class PermissionDeniedError(Exception):
    """The token is missing, unknown, dead, or not allowed to do this."""

    def __init__(self, *permissions: str) -> None:
        super().__init__(f"To access this path, you need one of the following permissions: {', '.join(permissions)}")


class Api:
    """Executes documents for whoever holds a token."""

    def __init__(self, state: SaleorState, storefront: Storefront, staff: Staff) -> None:
        self._state = state
        self._staff = staff
        self._root: dict[str, Any] = {
            "app": self._app,
            "shop": self._shop,
            "channels": self._channels,
            "transaction": self._transaction_by,
            "order": self._order,
            "transactionEventReport": self._report,
            "transactionUpdate": self._update,
            **StorefrontApi(state, storefront).resolvers(),
            "transactionRequestRefundForGrantedRefund": self._refund_granted,
            **WebhooksApi(state, self._authenticated).resolvers(),
            "appProblemCreate": self._problem,
            "appProblemDismiss": self._dismiss,
        }

    async def answer(self, request: Any, token: str | None, faults: SaleorFaults) -> tuple[int, dict[str, Any]]:
        """Return HTTP status and body for a GraphQL request (a JSON object) made with this token."""
        if faults.graphql_delay:
            await asyncio.sleep(faults.graphql_delay)
        if faults.graphql_internal_error:
            error = {"message": "Internal Server Error", "extensions": {"exception": {"code": "Exception"}}}
            return 200, {"errors": [error], "data": None}
        if not isinstance(request, Mapping) or not isinstance(request.get("query"), str):
            return 400, {"errors": [_shown(GraphQLError("Must provide a query string."))]}
        return await self._execute(
            request["query"], request.get("variables") or {}, request.get("operationName"), token
        )

    async def _execute(
        self, query: str, variables: dict[str, Any], operation_name: str | None, token: str | None
    ) -> tuple[int, dict[str, Any]]:
        known = schema(self._state.settings.release)
        try:
            document, errors = _checked(self._state.settings.release, query)
        except GraphQLError as exc:
            return 400, {"errors": [_shown(exc)]}
        operation = get_operation_ast(document, operation_name)
        if not errors and operation is not None:
            values = get_variable_values(known, operation.variable_definitions or (), variables)
            errors = values if isinstance(values, list) else []
        if errors or operation is None:
            return 400, {"errors": [_shown(error) for error in errors or [GraphQLError("Unknown operation.")]]}
        done = execute(
            known,
            document,
            root_value=self._root,
            context_value=token,
            variable_values=variables,
            operation_name=operation_name,
        )
        return 200, _body(await done if isinstance(done, Awaitable) else done)

    def _authenticated(self, info: Info) -> App:
        app = self._state.app_by_token(info.context)
        if app is None:
            raise PermissionDeniedError("AUTHENTICATED_STAFF_USER", "AUTHENTICATED_APP")
        return app

    def _allowed(self, info: Info) -> App:
        app = self._app_with(info, HANDLE_PAYMENTS)
        if app is None:
            raise PermissionDeniedError(HANDLE_PAYMENTS)
        return app

    def _app_with(self, info: Info, *any_of: str) -> App | None:
        """Return the app that asks, if it has one of these permissions."""
        app = self._state.app_by_token(info.context)
        return app if app is not None and not set(any_of).isdisjoint(app.permissions) else None

    def _app(self, info: Info, **arguments: Any) -> payload.Payload:
        """Of any other app an app would need MANAGE_APPS, which none has."""
        app = self._authenticated(info)
        if arguments.get("id") not in {None, app.id}:
            raise PermissionDeniedError("MANAGE_APPS")
        return payload.app(app)

    def _shop(self, info: Info) -> payload.Payload:
        settings = self._state.settings
        self._authenticated(info)
        domain = {"host": settings.domain, "url": settings.public_url}
        return {"version": settings.version, "schemaVersion": settings.schema_version, "name": "Shop", "domain": domain}

    def _channels(self, info: Info) -> list[payload.Payload]:
        self._authenticated(info)
        return [
            {
                "id": global_id("Channel", number),
                "slug": each.slug,
                "name": each.name,
                "currencyCode": each.currency,
                "isActive": each.active,
            }
            for number, each in enumerate(self._state.settings.channels, 1)
        ]

    def _transaction_by(self, info: Info, **arguments: Any) -> payload.Payload | None:
        self._allowed(info)
        try:
            return self._shown(self._found(arguments))
        except NotFoundError:
            return None

    def _order(self, _info: Info, **arguments: Any) -> payload.Payload | None:
        key_of("Order", arguments.get("id") or "")
        try:
            return self._shown_order(self._state.order(arguments["id"]))
        except NotFoundError:
            return None

    def _shown(self, item: Transaction) -> payload.Payload:
        """Return a transaction with the order that it belongs to, if it belongs to one."""
        return {**payload.transaction(item), "order": self._shown_order(item.order) if item.order else None}

    def _shown_order(self, order: Order) -> payload.Payload:
        """Whoever knows the id may look; only the transactions and the granted refunds need a permission."""

        def transactions(info: Info) -> list[payload.Payload]:
            if self._app_with(info, HANDLE_PAYMENTS, MANAGE_ORDERS) is None:
                raise PermissionDeniedError(MANAGE_ORDERS, HANDLE_PAYMENTS)
            return [self._shown(each) for each in order.transactions]

        def granted_refunds(info: Info) -> list[payload.Payload]:
            if self._app_with(info, MANAGE_ORDERS) is None:
                raise PermissionDeniedError(MANAGE_ORDERS)
            return [payload.granted_refund(each) for each in order.granted_refunds]

        return {**payload.source(order), "transactions": transactions, "grantedRefunds": granted_refunds}

    def _found(self, arguments: Mapping[str, Any]) -> Transaction:
        """Return the transaction of ``id`` or ``token``; raise InvalidIdError or NotFoundError."""
        token = arguments.get("token") or key_of("TransactionItem", arguments.get("id") or "")
        return self._state.transaction(global_id("TransactionItem", token))

    def _own(self, arguments: Mapping[str, Any], app: App) -> Transaction:
        transaction = self._found(arguments)
        if transaction.app_identifier != app.identifier:
            raise PermissionDeniedError("OWNER", HANDLE_PAYMENTS)
        return transaction

    def _report(self, info: Info, **arguments: Any) -> payload.Payload:
        app = self._allowed(info)
        state = self._state
        arrived = ArrivedReport(len(state.reports) + 1, state.event_clock.now(), app.identifier, _plain(arguments))
        state.reports.append(arrived)
        nothing = {"alreadyProcessed": None, "transaction": None, "transactionEvent": None}
        try:
            transaction = self._own(arguments, app)
            event, already = record_report(
                transaction, _read_report(arguments), state.transactions.values(), state.event_clock
            )
        except ReportRefusedError as refused:
            error = ErrorView(field=refused.field, code=refused.code, message=str(refused))
        except NotFoundError:
            message = f"Couldn't resolve to a node: {arguments.get('id') or arguments.get('token')}"
            error = ErrorView(field="id", code="NOT_FOUND", message=message)
        else:
            arrived.already_processed, arrived.event = already, event
            return {
                "alreadyProcessed": already,
                "transaction": self._shown(transaction),
                "transactionEvent": payload.event(event, transaction.currency),
                "errors": [],
            }
        arrived.errors.append(error)
        return {**nothing, "errors": [error.model_dump()]}

    def _update(self, info: Info, **arguments: Any) -> payload.Payload:
        app = self._allowed(info)
        try:
            transaction = self._own(arguments, app)
        except NotFoundError as exc:
            error = {"field": "id", "code": "NOT_FOUND", "message": str(exc)}
            return {"transaction": None, "errors": [error]}
        fields = arguments.get("transaction") or {}
        transaction.name = fields.get("name", transaction.name) or ""
        transaction.message = fields.get("message", transaction.message) or ""
        transaction.psp_reference = fields.get("pspReference", transaction.psp_reference)
        transaction.external_url = fields.get("externalUrl", transaction.external_url) or ""
        if "availableActions" in fields:
            offer(transaction, fields["availableActions"])
            transaction.unreadable = False
        transaction.metadata.update(_pairs(fields.get("metadata")) or {})
        transaction.private_metadata.update(_pairs(fields.get("privateMetadata")) or {})
        transaction.modified_at = self._state.event_clock.now()
        return {"transaction": self._shown(transaction), "errors": []}

    def _refund_granted(self, info: Info, **arguments: Any) -> payload.Payload:
        """An app may ask for itself what staff ask for in the Dashboard (Saleor contract, A.10)."""
        self._allowed(info)
        asked, transaction = arguments["grantedRefundId"], None
        key_of("OrderGrantedRefund", asked)
        try:
            if arguments.get("id") or arguments.get("token"):
                transaction = self._found(arguments).id
            answer = self._staff.refund_granted(asked, transaction)
        except NotFoundError as exc:
            error = {"field": "grantedRefundId", "code": "NOT_FOUND", "message": str(exc)}
            return {"transaction": None, "errors": [error]}
        if answer.errors or answer.granted_refund is None or answer.granted_refund.transaction_id is None:
            return {"transaction": None, "errors": [each.model_dump() for each in answer.errors]}
        asked_of = self._state.transaction(answer.granted_refund.transaction_id)
        return {"transaction": self._shown(asked_of), "errors": []}

    def _problem(self, info: Info, **arguments: Any) -> payload.Payload:
        app, asked = self._authenticated(info), arguments["input"]
        try:
            problem = add_problem(
                app.told_problems,
                new_id=global_id("AppProblem", next(self._state.problem_numbers)),
                key=asked["key"],
                message=asked["message"],
                threshold=asked.get("criticalThreshold"),
                aggregation_minutes=asked["aggregationPeriod"],
                now=self._state.event_clock.now(),
            )
        except ProblemRefusedError as refused:
            return {"appProblem": None, "errors": [_refused(refused)]}
        return {"appProblem": problem.shown(), "errors": []}

    def _dismiss(self, info: Info, **arguments: Any) -> payload.Payload:
        app, which = self._authenticated(info), arguments["input"].get("byApp") or {}
        try:
            dismiss_problems(app.told_problems, ids=which.get("ids"), keys=which.get("keys"))
        except ProblemRefusedError as refused:
            return {"errors": [_refused(refused)]}
        return {"errors": []}


@lru_cache(maxsize=32)
def _checked(release: tuple[int, ...], query: str) -> tuple[DocumentNode, list[GraphQLError]]:
    """Return a document and what is wrong with it. An app sends the same few again and again."""
    document = parse(query)
    return document, validate(schema(release), document)


def _refused(refused: ProblemRefusedError) -> dict[str, str]:
    return {"field": refused.field, "code": refused.code, "message": str(refused)}


def _read_report(arguments: Mapping[str, Any]) -> Report:
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


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a test wants to read them: times as text."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in arguments.items()}


def _body(result: ExecutionResult) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [_shown(error) for error in result.errors]
    return {**body, "data": result.data, "extensions": _COST}


def _shown(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error
    denied = isinstance(cause, PermissionDeniedError)
    ours = denied or isinstance(cause, (InvalidIdError, FieldFailedError)) or cause is None
    code = "PermissionDenied" if denied else "GraphQLError" if ours else type(cause).__name__
    shown: dict[str, Any] = {"message": error.message if ours else "Internal Server Error"}
    if error.locations:
        shown["locations"] = [{"line": place.line, "column": place.column} for place in error.locations]
    if error.path:
        shown["path"] = error.path
    return {**shown, "extensions": {"exception": {"code": code}}}
