"""The baseline of ``bench.webhooks``: the minimal cost of receiving a payment webhook, with the same libraries.

It verifies one RS256 signature over the body, inserts one row, makes one call upstream and answers. It does not parse
the body, and has no state, no outbox and no laws of money: if it fails, money is lost.

    python -m bench.relay DATABASE_URL UPSTREAM_URL JWKS_FILE PORT
"""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn
from fastapi import FastAPI, Request, Response
from joserfc.jwk import KeySet, RSAKey
from sqlmodel import Field, SQLModel, Text

from app.store.database import Database, create_engine
from saleor_app_sdk.signature import read_key_id, verify


class RelayedWebhook(SQLModel, table=True):
    """One body, as received."""

    id: int | None = Field(default=None, primary_key=True)
    body: str = Field(sa_type=Text)


def create_relay(database_url: str, upstream: str, keys: KeySet) -> FastAPI:
    """Return the relay."""
    engine = create_engine(database_url)
    database = Database(engine)
    http = httpx2.AsyncClient(trust_env=False, limits=httpx2.Limits(max_connections=100))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        table = SQLModel.metadata.tables[str(RelayedWebhook.__tablename__)]
        async with engine.begin() as connection:
            await connection.run_sync(lambda sync: table.create(sync, checkfirst=True))
        async with http:
            yield
        await engine.dispose()

    app = FastAPI(lifespan=lifespan, openapi_url=None)

    @app.post("/relay")
    async def relay(request: Request) -> Response:
        body = await request.body()
        signature = request.headers["saleor-signature"]
        key = keys.get_by_kid(read_key_id(signature))
        assert isinstance(key, RSAKey)
        verify(signature, body, key)
        async with database.transaction() as session:
            session.add(RelayedWebhook(body=body.decode()))
        answer = await http.post(f"{upstream}/api/v1/payment", content=body, timeout=8)
        return Response(json.dumps({"link": answer.headers["location"]}), media_type="application/json")

    return app


def _main(database_url: str, upstream: str, jwks: str, port: str) -> None:
    keys = KeySet.import_key_set(json.loads(Path(jwks).read_text()))
    uvicorn.run(create_relay(database_url, upstream, keys), port=int(port), log_level="warning", access_log=False)


if __name__ == "__main__":
    _main(*sys.argv[1:])
