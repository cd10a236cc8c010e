"""The Saleor of the unit tests answers the app's own questions as the real one does (Saleor contract, A.10)."""

from decimal import Decimal

import pytest

from saleor_app_sdk.errors import SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.history import REFUND_IS_PENDING, fetch_history, request_granted_refund
from saleor_app_sdk.responses import ActionResponse
from saleor_app_sdk.vocabulary import AvailableAction
from tests.payments.shop import Shop

TEN = Decimal("10.00")


async def test_history_shows_a_request_and_the_reference_that_the_answer_gave_it(paid_shop: Shop) -> None:
    saleor, transaction = paid_shop.saleor, paid_shop.transaction
    request = saleor.open_request(transaction, "REFUND", TEN, "key-1")
    before = await fetch_history(saleor, paid_shop.installation, transaction.id)
    saleor.book_action(
        transaction, request, "REFUND", ActionResponse.pending(AvailableAction.REFUND, psp_reference="R1")
    )
    after = await fetch_history(saleor, paid_shop.installation, transaction.id)

    assert before is not None
    assert after is not None
    seen = [
        (history_entry.type, history_entry.psp_reference, history_entry.money, history_entry.idempotency_key)
        for history_entry in (before[0], after[0])
    ]
    assert seen == [("REFUND_REQUEST", "", TEN, "key-1"), ("REFUND_REQUEST", "R1", TEN, "key-1")]
    assert await fetch_history(saleor, paid_shop.installation, "VHJhbnNhY3Rpb25JdGVtOm5vYm9keQ==") is None


async def test_app_asks_for_a_granted_refund_unless_it_is_pending(paid_shop: Shop) -> None:
    saleor, granted = paid_shop.saleor, paid_shop.saleor.grant_refund(paid_shop.transaction, TEN)

    await request_granted_refund(saleor, paid_shop.installation, paid_shop.transaction.id, granted.id)
    with pytest.raises(SaleorRefusedError) as refused:
        await request_granted_refund(saleor, paid_shop.installation, paid_shop.transaction.id, granted.id)

    [request] = saleor.requested
    told = saleor.webhook_members(paid_shop.transaction, request)
    assert refused.value.code == REFUND_IS_PENDING
    assert (told["grantedRefund"]["id"], told["action"]["amount"]) == (granted.id, TEN)


async def test_questions_can_go_unanswered_and_unheard(paid_shop: Shop) -> None:
    paid_shop.saleor.document_failures.append(SaleorUnreachableError("down"))
    with pytest.raises(SaleorUnreachableError):
        await fetch_history(paid_shop.saleor, paid_shop.installation, paid_shop.transaction.id)
    paid_shop.saleor.app.active = False
    with pytest.raises(SaleorNotAuthorisedError):
        await fetch_history(paid_shop.saleor, paid_shop.installation, paid_shop.transaction.id)

    assert [name for name, _ in paid_shop.saleor.executed_documents] == ["transaction_history"] * 2
