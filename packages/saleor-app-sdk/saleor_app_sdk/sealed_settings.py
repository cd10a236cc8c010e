"""Settings of each store, kept in the app's private metadata in that store's Saleor, and sealed.

An app without a database can keep there what staff enter on its page: keys of another service, say. Saleor gives an
app its own private metadata without any permission, and shows it to staff who may manage apps; so each value is sealed
with a key that only the app has, and bound to its name and its Saleor. It is lost with the app: a new installation
begins without settings.
"""

from collections.abc import Mapping, Sequence

from saleor_app_sdk.answers import read_mutation_result, read_object
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.sealing import Sealer


class SealedSettings:
    """Reads and writes the settings of an installation. Each call is one request to Saleor; nothing is cached.

    ``keys`` seal the values, newest first (``generate_sealing_key``). What an older key has sealed stays readable while
    that key is given, and is sealed with the newest one when it is written again. ``prefix`` begins the names in the
    metadata, and tells the settings from what the app keeps there otherwise. Raises ValueError without a usable key.
    Every call raises what ``SaleorClient.execute`` raises, and for what Saleor refuses ``SaleorRefusedError``.
    """

    def __init__(self, client: SaleorClient, *, keys: Sequence[str], prefix: str = "settings.") -> None:
        self._client = client
        self._sealer = Sealer(keys)
        self._prefix = prefix

    async def read(self, installation: Installation) -> dict[str, str]:
        """Return all settings by name. Raises SealedValueError if no key opens one of them."""
        data = await self._client.execute(installation, "read_private_metadata", {})
        items = read_object(data.get("app")).get("privateMetadata")
        if not isinstance(items, list):
            msg = "Saleor answered with unreadable metadata"
            raise SaleorUnreachableError(msg)
        sealed = {str(item["key"]): str(item["value"]) for item in map(read_object, items)}
        return {
            key.removeprefix(self._prefix): self._sealer.open(value, _place(installation, key))
            for key, value in sealed.items()
            if key.startswith(self._prefix)
        }

    async def write(self, installation: Installation, values: Mapping[str, str]) -> None:
        """Add or overwrite these settings, all or none of them, and leave the others as they are."""
        keys = {f"{self._prefix}{name}": value for name, value in values.items()}
        sealed = [
            {"key": key, "value": self._sealer.seal(value, _place(installation, key))} for key, value in keys.items()
        ]
        variables = {"id": installation.app_id, "input": sealed}
        written = await self._client.execute(installation, "update_private_metadata", variables)
        read_mutation_result(written.get("updatePrivateMetadata"))

    async def delete(self, installation: Installation, *names: str) -> None:
        """Delete these settings; those that do not exist are ignored."""
        variables = {"id": installation.app_id, "keys": [f"{self._prefix}{name}" for name in names]}
        deleted = await self._client.execute(installation, "delete_private_metadata", variables)
        read_mutation_result(deleted.get("deletePrivateMetadata"))


def _place(installation: Installation, key: str) -> str:
    return f"{installation.saleor_api_url} {key}"
