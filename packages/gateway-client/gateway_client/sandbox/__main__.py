"""The command `gateway-sandbox`, and `python -m gateway_client.sandbox`."""

import sys


def main() -> None:
    """Start a sandbox, or say what to install: its libraries are those of an extra."""
    try:
        from gateway_client.sandbox.command import main as start  # noqa: PLC0415 - it may be missing
    except ModuleNotFoundError as missing:
        sys.exit(f"The sandbox needs {missing.name}: pip install 'gateway-client[sandbox]'")
    start()


if __name__ == "__main__":
    main()
