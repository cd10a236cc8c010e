"""Subscriptions (gateway interface, 8 and 12). A payment with ``init_recurring`` starts one.

The look-up is in the interface. Cancelling and refunding are provisional: they are documented publicly, elsewhere, and
newer documents require a signed scheme of keys for cancelling, whose recipe is not published.
"""

from datetime import UTC, tzinfo
from typing import Literal

from gateway_client import responses
from gateway_client.credentials import Credentials
from gateway_client.dialect import charge_refund_path, subscription_end_path
from gateway_client.errors import InvalidRequestError, OutcomeUnknownError
from gateway_client.models.records import OperationRecord, Records, UnreadableError, read_records
from gateway_client.models.subscriptions import Subscription, SubscriptionRefund
from gateway_client.models.values import Method
from gateway_client.statuses import Status
from gateway_client.transport import Call, Transport, path_segment


class Subscriptions:
    """The subscriptions of one point of sale. ``zone``: of times which have none."""

    def __init__(self, transport: Transport, credentials: Credentials, *, zone: tzinfo = UTC) -> None:
        self._transport = transport
        self._credentials = credentials
        self._zone = zone

    async def transactions(
        self,
        recurring_id: str,
        *,
        method: Literal[Method.PURCHASE, Method.REFUND],
        status: Status,
        timeout: float,
    ) -> Records:
        """Return the transactions of a subscription (gateway interface, 8).

        The interface requires ``method`` and ``status`` but does not state where: they are sent in the query.
        """
        call = Call(
            method="GET",
            base_url=self._credentials.base_url,
            path=f"/api/v1/pos/{self._credentials.pos_id}/recurring/{path_segment(recurring_id)}",
            query=(("method", method), ("status", status)),
        )
        response = await self._transport.exchange(call, timeout=timeout)
        try:
            return read_records(responses.decode(call, response), self._zone)
        except UnreadableError as exc:
            raise call.error(OutcomeUnknownError, f"the answer is {exc}", http_status=response.status) from None

    async def cancel(self, recurring_id: str, *, timeout: float) -> Subscription:
        """Cancel a subscription. Provisional."""
        call = Call(
            method="PUT",
            base_url=self._credentials.balances_url or self._credentials.base_url,
            path=subscription_end_path(path_segment(recurring_id)),
        )
        response = await self._transport.exchange(call, timeout=timeout)
        return responses.parse(call, Subscription, responses.decode(call, response))

    async def refund(
        self, recurring_id: str, payment_id: str, refund: SubscriptionRefund, *, timeout: float
    ) -> OperationRecord:
        """Refund one charge of a subscription. Provisional."""
        pos_id = self._credentials.pos_id
        body = refund.to_wire()
        if body.setdefault("pos_id", pos_id) != pos_id:
            raise InvalidRequestError("pos_id", f"the account's, {pos_id}", body["pos_id"])
        call = Call(
            method="POST",
            base_url=self._credentials.base_url,
            path=charge_refund_path(pos_id, path_segment(recurring_id), path_segment(payment_id)),
            body=body,
        )
        response = await self._transport.exchange(call, timeout=timeout)
        return responses.parse(call, OperationRecord, responses.decode(call, response), self._zone)
