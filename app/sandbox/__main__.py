"""`python -m app.sandbox`."""

from app.sandbox.command import main

main()
