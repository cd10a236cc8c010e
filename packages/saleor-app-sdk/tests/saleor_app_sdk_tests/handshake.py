"""The handshake with which a Saleor installs the app, as Saleor makes it."""

import json
from dataclasses import dataclass

import httpx2

from saleor_app_sdk_tests.fake_saleor import API_URL

GOOD_TOKEN = "good-token"


@dataclass
class Handshake:
    client: httpx2.AsyncClient

    async def bring(self, token: object = GOOD_TOKEN, **headers: str | None) -> httpx2.Response:
        """Post a token as Saleor does; ``headers`` override Saleor's (None removes one)."""
        body = token if isinstance(token, bytes) else json.dumps({"auth_token": token}).encode()
        usual: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Saleor-Domain": "shop.example.com",
            "Saleor-Api-Url": API_URL,
            "Saleor-Schema-Version": "3.23",
        }
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in usual.items() if value is not None}
        return await self.client.post("/api/register", content=body, headers=sent)


def refused(answer: httpx2.Response, status: int, code: str) -> str:
    """Check the form in which Saleor finds the message for the person who installs; return the message."""
    said = answer.json()
    assert (answer.status_code, said["success"], said["error"]["code"]) == (status, False, code)
    message: str = said["error"]["message"]
    assert message.endswith((".", "?"))
    return message
