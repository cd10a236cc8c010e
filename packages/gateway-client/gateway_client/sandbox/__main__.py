"""`python -m gateway_client.sandbox`."""

from gateway_client.sandbox.command import main

main()
