"""The client of one merchant account. Every call takes a ``timeout`` in seconds.

Calls that move money are sent once and never retried here: after ``OutcomeUnknownError`` the caller looks the order
up. Reads raise the same errors and are safe to retry.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from secrets import token_hex
from typing import Any

import httpx2

from gateway_client import responses
from gateway_client.balances import BalancesClient
from gateway_client.credentials import Credentials
from gateway_client.dialect import INTERFACE, Dialect, Inclusion
from gateway_client.discovery import Discovery
from gateway_client.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    NotTheGatewayError,
    OutcomeUnknownError,
    RateLimitedError,
)
from gateway_client.hosts import check_payment_page, resolve_location
from gateway_client.models.base import RequestModel
from gateway_client.models.operations import Capture, Refund, Secondary, SplitRefund, Void
from gateway_client.models.payments import Checkout, DirectPayment, HostedPayment, Payment, Sector
from gateway_client.models.payout import Payout
from gateway_client.models.records import (
    OperationRecord,
    PaymentRecord,
    Records,
    UnreadableError,
    read_record,
    read_records,
)
from gateway_client.models.values import Method
from gateway_client.reports import Reports
from gateway_client.statuses import Status
from gateway_client.subscriptions import Subscriptions
from gateway_client.transport import Call, GatewayResponse, Transport, Verb, path_segment
from gateway_client.wallets import Wallets

# "See other", and its form of older servers. 301, 307 and 308 repeat the request elsewhere: then the interface itself
# has moved, and its new address is not a page (gateway interface, 1b).
_REDIRECTS_TO_PAGE = frozenset({302, 303})
_PAYMENT, _SPLIT_PURCHASE = "/api/v1/payment", "/api/v1/split/purchase"
_SPLIT_CAPTURE = "/api/v1/split/capture"
_REFUSALS, _UNAUTHORISED, _SUCCESS = range(400, 500), 401, (200, None)


class GatewayClient:
    """The calls of one account.

    ``http`` is the process-wide connection pool; the client neither configures nor closes it. ``sector`` is what the
    merchant sells: some sectors require more data about the payer. ``dialect`` is what the gateway decides where the
    interface leaves it open. ``sleep`` (seconds) is only used while a register is being generated.

    Further calls are grouped: ``reports``, ``balances``, ``subscriptions``, ``wallets``, ``discovery``.

    Every call raises ``NotSentError``, ``RefusedError`` (and subclasses), ``OutcomeUnknownError``, or
    ``InvalidRequestError`` before anything is sent. A declined operation is returned: a record with status ``failure``.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        credentials: Credentials,
        *,
        sector: Sector = Sector.GENERAL,
        dialect: Dialect = INTERFACE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._transport = Transport(http, credentials)
        self._credentials = credentials
        self._sector = sector
        self._dialect = dialect
        self.reports = Reports(self._transport, credentials, sleep=sleep)
        self.balances = BalancesClient(self._transport, credentials)
        self.subscriptions = Subscriptions(self._transport, credentials, zone=dialect.zone)
        self.wallets = Wallets(self._transport, credentials)
        self.discovery = Discovery(self._transport, credentials)

    @property
    def pos_id(self) -> str:
        """The account's point of sale."""
        return self._credentials.pos_id

    # Creating payments

    async def create_hosted(
        self, payment: HostedPayment, *, qr: bool = False, timeout: float
    ) -> Checkout | PaymentRecord:
        """Create a payment on the gateway's page (gateway interface, 1b; with ``split``: 2).

        Returns where the shopper pays, or a record if the gateway declined at once or sent no link. With ``qr`` the QR
        page is requested; each of the two addresses is derived from the other where possible. ``DuplicateOrderError``
        means that this order id was used before: look it up.
        """
        payment.check_sector(self._sector)
        call = self._creation(payment, query=(("qr", "true"),) if qr else ())
        response = await self._transport.exchange(call, timeout=timeout)
        if response.status in _REDIRECTS_TO_PAGE:
            page = resolve_location(response.headers.get("location", ""), call.base_url + call.path)
            return _checkout(call, response, page, is_qr=False)
        if 300 <= response.status < 400:
            message = "sent elsewhere: this is not the address of the gateway's interface"
            raise call.error(NotTheGatewayError, message, http_status=response.status)
        data = responses.decode(call, response)
        if isinstance(data, dict):
            payment_id = data.get("payment_id")
            named = str(payment_id) if payment_id else None
            if link := data.get("redirect_url"):
                return _checkout(call, response, link, is_qr=False, payment_id=named)
            if link := data.get("qr_link"):
                return _checkout(call, response, link, is_qr=True, payment_id=named)
        return self._created(call, response, data)

    async def create_direct(self, payment: DirectPayment, *, timeout: float) -> PaymentRecord:
        """Pay with a card, token or cryptogram (gateway interface, 1a; with ``split``: 2).

        The record may be ``pending`` with ``user_action_required``: then the payer goes to ``user_action_url``.
        """
        payment.check_sector(self._sector)
        return await self._create(self._creation(payment), timeout)

    async def pay_out(self, payout: Payout, *, timeout: float) -> PaymentRecord:
        """Pay out to a card (gateway interface, 1c)."""
        if self._dialect.payout_identity is Inclusion.SENT:
            payout.check_sector(self._sector)
        return await self._create(self._creation(payout), timeout)

    # Acting on payments

    async def capture(self, capture: Capture, *, timeout: float) -> OperationRecord:
        """Take reserved money (gateway interface, 3)."""
        path = self._dialect.capture_path if capture.split is None else _SPLIT_CAPTURE
        return await self._operate(path, capture, Method.CAPTURE, timeout)

    async def void(self, void: Void, *, timeout: float) -> OperationRecord:
        """Release a reservation (gateway interface, 4)."""
        return await self._operate("/api/v1/void", void, Method.VOID, timeout)

    async def refund(self, refund: Refund, *, timeout: float) -> OperationRecord:
        """Give money back, all or a part (gateway interface, 5)."""
        return await self._operate("/api/v1/refund", refund, Method.REFUND, timeout)

    async def split_refund(self, refund: SplitRefund, *, timeout: float) -> OperationRecord:
        """Give money of sub-merchants back (gateway interface, 6)."""
        return await self._operate("/api/v1/split/refund", refund, Method.REFUND, timeout)

    async def cancel(self, order_id: str, *, timeout: float) -> PaymentRecord:
        """Cancel an unpaid hosted payment (gateway interface, 7): the record comes back ``failure``, code 6007."""
        call = self._call("POST", f"/api/v1/pos/{self.pos_id}/order/{path_segment(order_id)}/cancel", order_id)
        response = await self._transport.exchange(call, timeout=timeout)
        records = self._records(call, response, responses.decode(call, response))
        for record in records:
            if isinstance(record, PaymentRecord) and record.order_id == order_id:
                return record
        raise call.error(OutcomeUnknownError, "the answer holds no record of this order", http_status=response.status)

    # Looking up

    async def get_order(self, order_id: str, *, timeout: float) -> Records:
        """Return all operations of an order (gateway interface, 8); empty when the gateway has no such order.

        Some of them may be ``unreadable``: then an operation that is missing may have happened all the same.
        """
        return await self._look_up(self._order_path(order_id), order_id, timeout)

    async def get_operation(self, order_id: str, method: Method, *, timeout: float) -> Records:
        """Return an order's operations of one kind (gateway interface, 8); empty when there are none."""
        return await self._look_up(f"{self._order_path(order_id)}/{method}", order_id, timeout)

    async def resend(
        self, order_id: str, method: Method, *, transaction_id: str | None = None, timeout: float
    ) -> Records:
        """Request that the webhook of an operation be sent again (gateway interface, 9).

        For a subscription ``transaction_id`` selects one of its payments; without it, the latest.
        """
        query = [("callback", "true")]
        if transaction_id is not None:
            query.append(("transactionId", transaction_id))
        return await self._look_up(f"{self._order_path(order_id)}/{method}", order_id, timeout, query=tuple(query))

    async def check_credentials(self, *, timeout: float) -> bool:
        """Look up order "0" with the account's keys. Raises ``BadCredentialsError`` if they are wrong.

        Whether there is such an order does not matter, only that the gateway itself responds. Returns False when it
        responds that there is none, or with no records: an address that does not exist may give the same response, with
        any keys (see ``refuses_other_keys``).
        """
        call = self._call("GET", self._order_path("0"), "0")
        response = await self._transport.exchange(call, timeout=timeout)
        try:
            return bool(self._records(call, response, responses.decode(call, response)))
        except NotFoundError:
            return False

    async def refuses_other_keys(self, *, after: GatewayError | None = None, timeout: float) -> bool:
        """Return True if the gateway answers random keys otherwise than these: then its answer depends on the keys.

        If there is no difference, the result of ``check_credentials`` proves nothing about them. ``after``: the refusal
        with which it ended; None: it returned False. The look-up of order "0" is tried first, in whatever words the
        gateway says that there is none; then balances, of which the interface promises 200 with the right keys and 401
        with others (gateway interface, 11).
        """
        random_keys = {name: token_hex(16) for name in ("api_key", "api_secret", "endpoints_key")}
        impostor = GatewayClient(self._http, replace(self._credentials, **random_keys, previous_api_secrets=()))
        own = _SUCCESS if after is None else (after.http_status, after.code)
        other = await impostor._react_to_keys(timeout)
        if other != own and other[0] in _REFUSALS:
            return True
        try:
            await self.balances.accounts(timeout=timeout)
        except GatewayError:
            return False
        try:
            await impostor.balances.accounts(timeout=timeout)
        except GatewayError as error:
            return isinstance(error, BadCredentialsError) or error.http_status == _UNAUTHORISED
        return False

    async def _react_to_keys(self, timeout: float) -> tuple[int, str | None]:
        """Return the HTTP status and the code with which the gateway answers the look-up of order "0"."""
        try:
            await self.check_credentials(timeout=timeout)
        except RateLimitedError:
            raise
        except GatewayError as error:
            if error.http_status is None or error.http_status not in _REFUSALS:
                raise
            return error.http_status, error.code
        return _SUCCESS

    # Implementation

    def _call(self, method: Verb, path: str, order_id: str, **more: Any) -> Call:
        return Call(method=method, base_url=self._credentials.base_url, path=path, order_id=order_id, **more)

    def _order_path(self, order_id: str) -> str:
        return f"/api/v1/pos/{self.pos_id}/orders/{path_segment(order_id)}"

    def _body(self, request: RequestModel, order_id: str) -> dict[str, Any]:
        members = self._dialect.write(request.to_wire())
        if members.setdefault("pos_id", self.pos_id) != self.pos_id:
            raise InvalidRequestError("pos_id", f"the account's, {self.pos_id}", members["pos_id"], order_id=order_id)
        return members

    def _creation(self, request: Payment | Payout, *, query: tuple[tuple[str, str], ...] = ()) -> Call:
        # The interface splits purchases only: a reservation is divided when it is captured.
        split = isinstance(request, Payment) and request.split is not None and request.method is Method.PURCHASE
        path = _SPLIT_PURCHASE if split else _PAYMENT
        body = self._body(request, request.order_id)
        is_payout = request.method is Method.CREDIT
        usual_3ds = self._dialect.payout_3ds_bypass if is_payout else self._dialect.order_3ds_bypass
        body.setdefault("order_3ds_bypass", usual_3ds.value)
        if is_payout:
            body = self._dialect.write_payout(body)
        if request.method is Method.AUTH:
            body = self._dialect.write_hold(body)
        return self._call("POST", path, request.order_id, body=body, query=query, creates=True)

    async def _create(self, call: Call, timeout: float) -> PaymentRecord:
        response = await self._transport.exchange(call, timeout=timeout)
        return self._created(call, response, responses.decode(call, response))

    def _created(self, call: Call, response: GatewayResponse, data: object) -> PaymentRecord:
        record = self._single_record(call, response, data)
        if not isinstance(record, PaymentRecord):
            raise call.error(OutcomeUnknownError, "the answer is about another kind of operation")
        if record.status is Status.FAILURE and record.status_code == "4119":
            raise call.error(
                DuplicateOrderError, "the order id was used before", code="4119", http_status=response.status
            )
        return record

    async def _operate(self, path: str, request: Secondary, method: Method, timeout: float) -> OperationRecord:
        body = self._dialect.write_operation(self._body(request, request.order_id))
        call = self._call("POST", path, request.order_id, body=body)
        response = await self._transport.exchange(call, timeout=timeout)
        record = self._single_record(call, response, responses.decode(call, response))
        if not isinstance(record, OperationRecord) or record.method != method:
            raise call.error(OutcomeUnknownError, "the answer is about another kind of operation")
        return record

    async def _look_up(
        self, path: str, order_id: str, timeout: float, *, query: tuple[tuple[str, str], ...] = ()
    ) -> Records:
        call = self._call("GET", path, order_id, query=query)
        response = await self._transport.exchange(call, timeout=timeout)
        try:
            data = responses.decode(call, response)
        except NotFoundError:
            return Records(())
        return self._records(call, response, data)

    def _single_record(self, call: Call, response: GatewayResponse, data: object) -> PaymentRecord | OperationRecord:
        """Return the record in the response to ``call``.

        Raises ``OutcomeUnknownError`` if it cannot be read, or is about another order.
        """
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        try:
            record = read_record(data, self._dialect.zone)
        except UnreadableError as exc:
            raise call.error(OutcomeUnknownError, f"the answer is {exc}", http_status=response.status) from None
        if record.order_id != call.order_id:
            raise call.error(OutcomeUnknownError, "the answer is about another order", http_status=response.status)
        return record

    def _records(self, call: Call, response: GatewayResponse, data: object) -> Records:
        try:
            return read_records(data, self._dialect.zone)
        except UnreadableError as exc:
            raise call.error(OutcomeUnknownError, f"the answer is {exc}", http_status=response.status) from None


def _checkout(
    call: Call, response: GatewayResponse, link: object, *, is_qr: bool, payment_id: str | None = None
) -> Checkout:
    read = Checkout.from_qr if is_qr else Checkout.from_form
    try:
        return read(check_payment_page(str(link or ""), call.base_url), payment_id=payment_id)
    except ValueError:
        message = "a checkout link that leads to no payment page"
        raise call.error(NotTheGatewayError, message, http_status=response.status) from None
