"""The Saleor of the unit tests answers the app's own questions as the real one does (Saleor contract, A.10)."""

from decimal import Decimal

import pytest

from app.saleor.answers import ActionAnswer
from app.saleor.errors import SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from app.saleor.history import IS_PENDING, request_granted_refund, transaction_history
from app.saleor.vocabulary import AvailableAction
from tests.payments.shop import Shop

TEN = Decimal("10.00")


async def test_history_shows_a_request_and_the_reference_that_the_answer_gave_it(paid: Shop) -> None:
    saleor, transaction = paid.saleor, paid.transaction
    request = saleor.open(transaction, "REFUND", TEN, "key-1")
    before = await transaction_history(saleor, paid.installation, transaction.id)
    saleor.book_action(transaction, request, "REFUND", ActionAnswer.pending(AvailableAction.REFUND, psp_reference="R1"))
    after = await transaction_history(saleor, paid.installation, transaction.id)

    assert before is not None
    assert after is not None
    seen = [(each.type, each.psp_reference, each.money, each.idempotency_key) for each in (before[0], after[0])]
    assert seen == [("REFUND_REQUEST", "", TEN, "key-1"), ("REFUND_REQUEST", "R1", TEN, "key-1")]
    assert await transaction_history(saleor, paid.installation, "VHJhbnNhY3Rpb25JdGVtOm5vYm9keQ==") is None


async def test_app_asks_for_a_granted_refund_unless_it_is_pending(paid: Shop) -> None:
    saleor, granted = paid.saleor, paid.saleor.grant(paid.transaction, TEN)

    await request_granted_refund(saleor, paid.installation, paid.transaction.id, granted.id)
    with pytest.raises(SaleorRefusedError) as refused:
        await request_granted_refund(saleor, paid.installation, paid.transaction.id, granted.id)

    [request] = saleor.requested
    told = saleor.says(paid.transaction, request)
    assert refused.value.code == IS_PENDING
    assert (told["grantedRefund"]["id"], told["action"]["amount"]) == (granted.id, TEN)


async def test_questions_can_go_unanswered_and_unheard(paid: Shop) -> None:
    paid.saleor.deaf.append(SaleorUnreachableError("down"))
    with pytest.raises(SaleorUnreachableError):
        await transaction_history(paid.saleor, paid.installation, paid.transaction.id)
    paid.saleor.app.active = False
    with pytest.raises(SaleorNotAuthorisedError):
        await transaction_history(paid.saleor, paid.installation, paid.transaction.id)

    assert [name for name, _ in paid.saleor.queried] == ["transaction_history"] * 2
