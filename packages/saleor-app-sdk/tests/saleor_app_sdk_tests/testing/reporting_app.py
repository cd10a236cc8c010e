"""An app that tells and asks by GraphQL, with its token."""

from typing import Any

import httpx2

DOCUMENT = """
mutation Report($id: ID, $token: UUID, $type: TransactionEventTypeEnum!, $pspReference: String!,
    $amount: PositiveDecimal, $time: DateTime, $actions: [TransactionActionEnum!], $metadata: [MetadataInput!]) {
  transactionEventReport(id: $id, token: $token, type: $type, pspReference: $pspReference, amount: $amount,
      time: $time, availableActions: $actions, transactionMetadata: $metadata) {
    alreadyProcessed
    transaction { id actions chargedAmount { amount currency } metadata { key value } }
    transactionEvent { id createdAt type amount { amount } }
    errors { field code message }
  }
}
"""


class ReportingApp:
    """An app with a token that reports on one transaction."""

    def __init__(self, http: httpx2.AsyncClient, url: str, token: str, transaction_id: str) -> None:
        self._http = http
        self._url = url
        self.token = token
        self.transaction_id = transaction_id

    async def post(self, query: str, variables: dict[str, Any] | None = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return await self._http.post(self._url, json={"query": query, "variables": variables or {}}, headers=headers)

    async def report(self, **variables: Any) -> httpx2.Response:
        asked = {"id": self.transaction_id, "type": "INFO", "pspReference": "m", **variables}
        return await self.post(DOCUMENT, asked)

    async def told(self, **variables: Any) -> Any:
        answer = await self.report(**variables)
        assert answer.status_code == 200
        return answer.json()["data"]["transactionEventReport"]
