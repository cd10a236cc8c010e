"""What a shopper reads about a status code."""

import pytest

from app.rules.status_messages import english_status_message, status_message
from gateway_client.statuses import TABLE, Status, explain


@pytest.mark.parametrize("code", TABLE)
def test_each_code_has_a_sentence_in_both_languages(code: str) -> None:
    row = TABLE[code]
    english = english_status_message(row)
    assert english.isascii()
    assert not status_message(row, "uk").isascii()
    assert english.endswith(".")
    assert status_message(row, "uk").endswith(".")
    assert status_message(row, "uk") == status_message(row, "uk-UA") == status_message(row, "UK_UA") != english
    assert status_message(row, "en") == status_message(row, "pl") == status_message(row, "") == english


@pytest.mark.parametrize("status", Status)
def test_a_code_that_nobody_published_has_the_sentence_of_its_status(status: Status) -> None:
    assert english_status_message(explain(status, "5005")) == english_status_message(explain(status, None))


def test_a_decline_for_an_unknown_reason_names_another_card() -> None:
    assert "another card" in english_status_message(explain(Status.FAILURE, "5005"))
