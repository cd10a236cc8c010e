"""``payments index-emails``: payments of before can be found by the shopper's e-mail address."""

import sys

from app.commands.opening import at_desk
from app.commands.terminal import AsJson, say, show_json
from app.payments.desk import Desk
from app.payments.index_emails import index_emails


def index_older_emails(as_json: AsJson = False) -> None:
    """Let payments from before addresses were indexed be found by e-mail. It can be broken off and repeated."""

    async def index(desk: Desk) -> int:
        done = 0
        async for many in index_emails(desk):
            done += many
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{done} payments")
        return done

    done = at_desk(index)
    if as_json:
        show_json({"indexed": done})
    else:
        say(f"{done} more payments can be found by e-mail.")
