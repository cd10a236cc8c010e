"""Shoppers' e-mail addresses, by which payments are found without the addresses being kept for it.

What is kept is a keyed digest (``vault``), another one in each store: nothing in the database shows who paid in two.
"""

from collections.abc import Iterable

from app.db.vault import Vault


class BlindIndex:
    """Makes the digests under the secret keys. Capitals and outer spaces of an address do not matter."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def kept(self, installation_id: int, address: str) -> str:
        """Return what a payment of that store keeps: 32 hexadecimal digits."""
        return self._all(installation_id, address)[0]

    def sought(self, installation_ids: Iterable[int], address: str) -> tuple[str, ...]:
        """Return whatever payments of those stores may have kept, also before the secret key was changed."""
        return tuple(digest for each in installation_ids for digest in self._all(each, address))

    def _all(self, installation_id: int, address: str) -> tuple[str, ...]:
        return self._vault.digests(address.strip().lower(), f"installation/{installation_id}/email")
