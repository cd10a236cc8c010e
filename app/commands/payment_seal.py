"""``payments seal-shoppers``: what is personal in payments of before is encrypted."""

import sys

from app.commands.opening import at_desk
from app.commands.terminal import AsJson, say, show_json
from app.payments.desk import Desk
from app.payments.seal_shoppers import seal_shoppers


def seal_older_payments(as_json: AsJson = False) -> None:
    """Encrypt what payments from before it was encrypted keep of their shoppers. It can be broken off and repeated."""

    async def seal(desk: Desk) -> int:
        done = 0
        async for many in seal_shoppers(desk):
            done += many
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{done} payments")
        return done

    done = at_desk(seal)
    if as_json:
        show_json({"sealed": done})
    else:
        say(f"Of {done} more payments it is encrypted who the shopper is.")
