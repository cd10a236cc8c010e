"""Where the rules, words and limits of the interface are kept to: a journey, a module of the sandbox, a cassette."""

from collections.abc import Iterator, Mapping

from integration_base_tests.places import REPOSITORY

NO_CRYPTOGRAM = "the app pays with the token of a wallet, not with a cryptogram"
_PAYS, _ACTS = "`test_a_shopper_pays.py`", "`test_staff_act.py`"
_FIELDS, _RENDER = "`core/fields.py`", "`render.py`"
_CARD_PAYS, _PAGE_PAYS = "`direct/a_card_pays`", "`hosted/a_purchase_on_the_page`"
_BACK, _SPLIT_PAYS = "`operations/money_goes_back_in_parts_and_in_all`", "`split/a_card_pays_two_and_one_gives_back`"
_TOLD = "`test_what_the_gateway_is_told.py`"
_HOOKS = "`webhooks/signed_webhooks_tell_of_a_payment_and_of_a_refund`"
_NO_CALL = "what the client reads or refuses by itself: no call is made"
_ANY = "every journey"
RULES: Mapping[str, tuple[str, str, str]] = {
    "Conventions": (_PAYS, _FIELDS, _CARD_PAYS),
    "Payment record": (_PAYS, _RENDER, _CARD_PAYS),
    "Secondary operation record": (_ACTS, _RENDER, _BACK),
    "Card and token inputs": ("`test_cards_in_the_storefront.py`", "`core/bodies.py`", _CARD_PAYS),
    "Split item": ("`test_a_marketplace.py`", "`core/shares.py`", _SPLIT_PAYS),
    "Browser fingerprint": ("`test_cards_in_the_storefront.py`", "`core/bodies.py`", _CARD_PAYS),
    "Payment attributes": (_TOLD, _FIELDS, "`the_apps_requests/a_page_with_plain_products`"),
    "Payout recipient": ("`test_payouts.py`", "`core/bodies.py`", "`the_apps_requests/a_payout_to_a_known_recipient`"),
    "Balance account": ("`test_nothing_secret.py`", "`api/balances.py`", "`registers/balances`"),
    "Transaction-list record": ("`test_books_are_compared.py`", _RENDER, "`lookups/all_transactions_of_a_period`"),
    "Transaction-register record": ("`test_books_are_compared.py`", _RENDER, "`registers/a_register_with_every_field`"),
    "Gaps: products": (_TOLD, "`core/bodies.py`", "`the_apps_requests/a_page_with_a_fiscal_receipt`"),
    "Gaps: cryptogram": (NO_CRYPTOGRAM, "`core/bodies.py`", "`direct/a_cryptogram_pays`"),
    "Gaps: statuses, methods": (_PAYS, _RENDER, _CARD_PAYS),
    "Gaps: `order_3ds_bypass`": (_PAYS, "`core/dialects.py`", _CARD_PAYS),
    "States": (_PAYS, "`core/attempts.py`", _PAGE_PAYS),
    "Rules 1 to 3": (_ACTS, "`core/secondary.py`", "`refusals/a_payment_that_is_not_reserved_cannot_be_released`"),
    "Rule 4": (_ACTS, "`core/secondary.py`", _BACK),
    "1a Direct": ("`test_cards_in_the_storefront.py`", "`api/payments.py`", _CARD_PAYS),
    "1a Rules": ("`tests/payments/requests/test_context.py` has every case", "`core/creation.py`", _NO_CALL),
    "1b Hosted": (_PAYS, "`api/payments.py`", _PAGE_PAYS),
    "1 `qr`": (_PAYS, "`api/payments.py`", "`hosted/the_page_as_a_qr_code`"),
    "1c Payout": ("`test_payouts.py`", "`core/creation.py`", "`payouts/a_card_is_paid`"),
    "2 Split purchase": ("`test_a_marketplace.py`", "`core/shares.py`", "`split/a_page_for_two`"),
    "3 Capture": (_ACTS, "`api/operations.py`", "`split/reserved_money_is_taken_for_two`"),
    "4 Void": (_ACTS, "`api/operations.py`", "`operations/reserved_money_is_released`"),
    "5 Refund": (_ACTS, "`api/operations.py`", _BACK),
    "6 Split refund": ("`test_a_marketplace.py`", "`api/operations.py`", _SPLIT_PAYS),
    "7 Cancel": (_ACTS, "`core/attempts.py`", "`operations/an_unpaid_payment_is_cancelled`"),
    "8 Look-ups": (_PAYS, "`api/lookups.py`", "`lookups/all_operations_of_an_order_and_those_of_one_kind`"),
    "9 Resend": ("`tests/commands/test_look_up.py`", "`api/lookups.py`", "`lookups/a_webhook_is_sent_again`"),
    "10 Register": (
        "`test_books_are_compared.py`", "`api/registers.py`", "`registers/a_register_is_started_and_fetched`",
    ),
    "8, 10 Lists": ("`test_books_are_compared.py`", "`api/registers.py`", "`registers/a_register_with_every_field`"),
    "11 Balances": ("`test_nothing_secret.py`", "`api/balances.py`", "`registers/balances`"),
    "12 Subscriptions": (
        "`test_subscriptions.py`", "`api/subscriptions.py`",
        "`subscriptions/a_subscription_from_its_first_charge_to_its_end`",
    ),
    "12 Other methods": (_NO_CALL, _RENDER, _NO_CALL),
    "Tokens of wallets": (
        "`test_wallets_in_the_storefront.py`", "`core/wallets.py`", "`wallets/a_wallets_token_is_exchanged_and_pays`",
    ),
    "1": (_ANY, "`api/access.py`", "`refusals/wrong_keys`"),
    "2": (_ANY, "`api/access.py`", "`refusals/wrong_keys`"),
    "3": (_ANY, "the sandbox sets no cookies", "cookies are not kept"),
    "4": (_ANY, "`api/access.py`", "`refusals/wrong_keys`"),
    "6, not shown": (_ANY, "`api/access.py`", "`refusals/wrong_keys`"),
    "Hosts": (_ANY, "one server has all areas", _NO_CALL),
    "Secrets": ("`test_nothing_secret.py`", "`calls.py`", _NO_CALL),
    "Delivery": (_PAYS, "`deliveries.py`", _HOOKS),
    "Signature": (_PAYS, "`deliveries.py`", _HOOKS),
    "Primary and secondary webhooks": (_PAYS, _RENDER, _HOOKS),
    "Webhooks signed and unreadable": ("`tests/payments/sync` has every case", "`scripting.py`", _NO_CALL),
    "Not shown": (_PAYS, "`faults.py`", "`refusals/what_is_not_there`"),
    "Attributes": (_TOLD, _FIELDS, "`the_apps_requests/a_page_with_plain_products`"),
    "`payload`": (_TOLD, "`core/bodies.py`", "`the_apps_requests/a_page_with_plain_products`"),
    "`description`": (_TOLD, "`core/bodies.py`", "`the_apps_requests/a_page_with_plain_products`"),
    "`order_id`": (_ANY, "`core/bodies.py`", "`refusals/an_order_id_is_good_for_one_payment`"),
    "`comment`": (_ACTS, _FIELDS, _BACK),
    "Amount decimals": (_PAYS, _FIELDS, _CARD_PAYS),
    "Register period": ("`test_books_are_compared.py`", "`api/registers.py`", _NO_CALL),
    "Tax id threshold": ("`tests/payments/requests/test_context.py` has every case", "`core/creation.py`", _NO_CALL),
    "Webhook ports": ("the ports of this machine are any", _FIELDS, _NO_CALL),
    "Versioning": (_ANY, "`api/`", "`registers/a_register_is_started_and_fetched`"),
}  # fmt: skip


def rules() -> Iterator[tuple[str, ...]]:
    """The rows of the rules: part, statement, client, journey, sandbox, cassette, tests."""
    table = (REPOSITORY / "docs" / "gateway.md").read_text(encoding="utf-8").partition("## Part by part")[2]
    for line in table.splitlines():
        if not line.startswith("| ") or line.startswith(("| ---", "| interface")):
            continue
        part, what, client, tests = (cell.strip() for cell in line.strip("|").split("|"))
        known = next((key for key in sorted(RULES, key=len, reverse=True) if part.startswith(key)), "")
        journey, sandbox, cassette = RULES.get(known, ("", "", ""))
        yield (part, what, client, journey, sandbox, cassette, tests)
