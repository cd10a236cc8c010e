"""Requests that the interface allows, for tests to vary."""

import json
from decimal import Decimal
from typing import Any

from gateway_client.models import BrowserFingerprint, DirectPayment, HostedPayment, Payout

BROWSER = BrowserFingerprint(
    color_depth="24",
    screen_height="1080",
    screen_width="1920",
    java_enabled="false",
    language="uk",
    time_zone="Europe/Kyiv",
    time_zone_offset="-120",
    accept_header="*/*",
    ip_address="192.0.2.7",
    user_agent="Mozilla/5.0",
)
PAYER: dict[str, Any] = {"customer_email": "olena@example.com", "customer_phone": "+380501234567"}
CARD: dict[str, Any] = {"cc_number": "4242424242424242", "exp_month": 12, "exp_year": 2030, "card_cvv": "123"}
SHOP = "d2719cd9-7a1a-4b1f-9a53-6b2f3c1e0a01"
OTHER_SHOP = "d2719cd9-7a1a-4b1f-9a53-6b2f3c1e0a02"


def hosted(**changes: Any) -> HostedPayment:
    members = {"order_id": "order1", "amount": Decimal("100.00"), "currency": "UAH", "description": "Order 1"} | PAYER
    return HostedPayment(**members | changes)


def direct(**changes: Any) -> DirectPayment:
    members = {
        "order_id": "order1",
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "description": "Order 1",
        "customer_fname": "Olena",
        "customer_lname": "Kovalenko",
        "customer_ip": "192.0.2.7",
        "browser_fingerprint": BROWSER,
    }
    return DirectPayment(**members | PAYER | changes)


def payout(**changes: Any) -> Payout:
    members = {
        "order_id": "out1",
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "description": "Payout 1",
        "customer_ip": "192.0.2.7",
    }
    return Payout(**members | changes)


# What the sheets of Apple Pay and Google Pay give to a page. What is sealed in it, nobody here can open.
APPLE_TOKEN: dict[str, Any] = {
    "paymentData": {
        "version": "EC_v1",
        "data": "c2VhbGVkIGJ5IEFwcGxl-apple",
        "signature": "MIAGCSqGSIb3DQEHAqCAMIACAQExDTALBgl",
        "header": {
            "ephemeralPublicKey": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE",
            "publicKeyHash": "tqYV",
            "transactionId": "1a2b",
        },
    },
    "paymentMethod": {"displayName": "Visa 4242", "network": "Visa", "type": "debit"},
    "transactionIdentifier": "1A2B",
}
GOOGLE_TOKEN = json.dumps(
    {"protocolVersion": "ECv2", "signature": "MEYCIQCa", "signedMessage": '{"encryptedMessage":"c2VhbGVkIGJ5-google"}'}
)
