"""The loopback server of the tests under the name it had here: scripts that play a case with this kit import it so."""

from integration_base_tests.loopback import Reply, json_reply

__all__ = ["Reply", "json_reply"]
