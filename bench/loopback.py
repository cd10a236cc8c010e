"""The other end of a measurement: a server in a process of its own, on a free port of this machine.

It answers as fast as it can and does nothing else, so that only the caller's work is measured. ``python -m
bench.loopback`` prints its address and serves until its standard input is closed.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from integration_base import exact_json

POS_ID = "5a9db0c5-0000-4000-8000-000000000001"
ORDER_ID = "A1B2C3D4"
LINES = "lines"  # /streaming-report/fetch/lines-<count>: that many lines
_LINES_AT_ONCE = 500

_COMMON: dict[str, Any] = {
    "payment_id": "72989d3e-6185-4013-93fb-a1a2a68a54a9",
    "order_id": ORDER_ID,
    "transaction_id": "5ad44e6a-5c1b-4cfa-bc38-cb553598f545",
    "pos_id": POS_ID,
    "status": "success",
    "currency": "UAH",
    "created_at": "2026-11-21T12:00:00.000",
}
PAYMENT = exact_json.dumps(
    _COMMON
    | {
        "gateway_order_id": "GW00A800B0DC48",
        "billing_order_id": "BLE206DD02BC16",
        "mode": "hosted",
        "method": "purchase",
        "amount": 1500,
        "description": "Order 1",
        "status_code": "1000",
        "status_description": "Transaction successful",
        "user_action_required": False,
        "user_action_url": None,
        "eci": "05",
        "mcc": None,
        "options_3ds": "supported",
        "cc_mask": "424242******4242",
        "cc_token": "aad1b9f2d5e143a4a3c2f0c1b9f2d5e143a4a3c2",
        "cc_token_expiration": "2029-11-20T12:00:00.000",
        "customer_email": "olena@example.com",
        "customer_phone": "+380501234567",
        "processing_time": "2026-11-21T12:00:00.000",
        "fee": {"amount": 22, "currency": "UAH"},
        "payload": None,
        "receipt_url": "https://gateway.example/receipt",
        "payway": "cc",
    }
).encode()
REFUND = exact_json.dumps(
    _COMMON
    | {
        "operation_id": "0d575f26-8fb9-493d-b91f-d293a28fce64",
        "mode": "direct",
        "method": "refund",
        "amount": 500,
        "status_code": "1004",
        "status_description": "Refund successful",
        "processed_at": "2026-11-21T12:00:00.000",
        "fee": None,
        "comment": None,
        "receipt_url": "https://gateway.example/receipt",
    }
).encode()
_LINE = (
    exact_json.dumps(
        {
            "orderId": ORDER_ID,
            "paymentId": _COMMON["payment_id"],
            "amount": "0.10",
            "currency": "UAH",
            "method": "purchase",
            "status": "success",
            "dateTime": 1795262400000,
            "cardMask": "424242******4242",
            "payway": "cc",
            "customerFee": "0.00",
            "merchantFee": "0.02",
        }
    ).encode()
    + b"\n"
)

_ANSWERS = {(b"POST", b"/api/v1/payment"): PAYMENT, (b"POST", b"/api/v1/refund"): REFUND}


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            verb, path = head.split(b" ", 2)[:2]
            lines = head.decode("latin-1").lower().split("\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
            await reader.readexactly(length)
            if b"/fetch/" in path:
                await _write_lines(writer, int(path.rsplit(b"-", 1)[1]))
            else:
                body = _ANSWERS.get((verb, path), b"[%b]" % PAYMENT)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(body), body)
                )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _write_lines(writer: asyncio.StreamWriter, count: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
    while count > 0:
        block = _LINE * min(count, _LINES_AT_ONCE)
        count -= _LINES_AT_ONCE
        writer.write(b"%x\r\n%b\r\n" % (len(block), block))
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def neighbour() -> Iterator[str]:
    """Start the server in a process of its own; yields its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.loopback"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield process.stdout.readline().strip()
        process.stdin.close()


if __name__ == "__main__":
    asyncio.run(_main())
