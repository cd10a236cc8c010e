"""The gateway and the Saleor of ``bench.webhooks``, in one process of their own: as fast as can be, and nothing more.

``python -m bench.counterparts SECONDS`` prints its address and serves until its standard input is closed. A payment is
created after that many seconds, with a link of its own; a report to Saleor is accepted at once.
"""

import asyncio
import json
import sys
from itertools import count

REPORTED = json.dumps(
    {
        "data": {
            "transactionEventReport": {
                "alreadyProcessed": False,
                "transaction": {"id": "VHJhbnNhY3Rpb25JdGVtOjE="},
                "transactionEvent": {"id": "VHJhbnNhY3Rpb25FdmVudDox"},
                "errors": [],
            }
        }
    }
).encode()
_checkouts = count(1)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            lines = head.decode("latin-1").lower().split("\r\n")
            length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
            await reader.readexactly(length)
            if path == b"/api/v1/payment":
                await asyncio.sleep(seconds)
                host = next(line[6:] for line in lines if line.startswith("host: ")).encode()
                place = b"http://%b/api/v1/checkout/%012d/form" % (host, next(_checkouts))
                writer.write(b"HTTP/1.1 303 See Other\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % place)
            else:
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(REPORTED), REPORTED)
                )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main(seconds: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _serve(reader, writer, seconds)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1])))
