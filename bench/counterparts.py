"""The gateway and the Saleor of ``bench.webhooks``, in one process of their own: as fast as possible and minimal.

``python -m bench.counterparts SECONDS`` prints its address and serves until its standard input is closed. A payment is
created after that many seconds, with a link of its own; reports to Saleor are accepted at once, however many a document
holds. ``POST /counted`` returns the numbers of requests to the gateway and to Saleor, and of reports in them.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from itertools import count

REPORTED = {
    "alreadyProcessed": False,
    "transaction": {"order": {"id": "T3JkZXI6MQ==", "number": "1"}},
    "transactionEvent": {"id": "VHJhbnNhY3Rpb25FdmVudDox"},
    "errors": [],
}
NO_SUCH_ORDER = json.dumps({"message": "Payment not found", "args": {"code": "P-404"}}).encode()
_REPORT = re.compile(rb"(?:(\w+)\s*:\s*)?(transactionEventReport)\(")
_checkouts = count(1)
_counts: Counter[str] = Counter(gateway=0, saleor=0, reports=0)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, _ = head.split(b" ", 2)
            lines = head.decode("latin-1").lower().split("\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
            body = await reader.readexactly(length)
            if path == b"/api/v1/payment":
                _counts["gateway"] += 1
                await asyncio.sleep(seconds)
                host = next(line[6:] for line in lines if line.startswith("host: ")).encode()
                place = b"http://%b/api/v1/checkout/%012d/form" % (host, next(_checkouts))
                writer.write(b"HTTP/1.1 303 See Other\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % place)
            elif method == b"GET":
                writer.write(
                    b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(NO_SUCH_ORDER), NO_SUCH_ORDER)
                )
            else:
                answer = json.dumps(_counts if path == b"/counted" else _saleor(body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(answer), answer)
                )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _saleor(body: bytes) -> dict[str, object]:
    names = [(alias or field).decode() for alias, field in _REPORT.findall(body)]
    _counts["saleor"] += 1
    _counts["reports"] += len(names)
    return {"data": dict.fromkeys(names, REPORTED)}


async def _main(seconds: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _serve(reader, writer, seconds)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1])))
