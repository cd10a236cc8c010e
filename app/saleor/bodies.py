"""What somebody sends is read only up to the size that what is expected can have."""

from fastapi import Request


async def read_at_most(limit: int, request: Request) -> bytes | None:
    """Return the raw body, or None as soon as it is longer than ``limit`` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)
