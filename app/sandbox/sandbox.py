"""One running sandbox: what the gateway knows, the rules about what goes wrong, webhooks, clock and state file."""

import contextlib
import os
import secrets
import tempfile
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from app.gateway.signature import sign
from app.sandbox.calls import CallLog
from app.sandbox.core.gateway_state import GatewayState
from app.sandbox.core.passing_time import tick
from app.sandbox.core.records import Operation, Payment
from app.sandbox.core.refusals import TooManyCallsError, UnknownRecordError
from app.sandbox.deliveries import Delivery, WebhookSender
from app.sandbox.render import encode_data, webhook_fields
from app.sandbox.scripting import Rules
from app.sandbox.settings import PointOfSale, SandboxSettings

_MINUTE = timedelta(minutes=1)
_FORGER = "not the secret of this point of sale"


class StateFile(BaseModel):
    """What the state file holds."""

    gateway: GatewayState
    deliveries: list[Delivery] = Field(default_factory=list)


class Sandbox:
    """The gateway that a sandbox plays. All changes happen between two awaits, so that none sees half of another."""

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self.points_of_sale = {pos.pos_id: pos for pos in settings.points_of_sale}
        self.rules = Rules()
        self.calls = CallLog()
        self._called_at: dict[UUID, deque[datetime]] = {}
        self.webhook_sender: WebhookSender | None = None
        kept = _load(settings.state) or self._fresh()
        self.state = kept.gateway
        self.deliveries = kept.deliveries
        for pos in settings.points_of_sale:  # one that the state file does not know yet
            self.state.behaviours.setdefault(pos.pos_id, pos.behaviour.model_copy())

    def _fresh(self) -> StateFile:
        state = GatewayState(seed=self.settings.seed if self.settings.seed is not None else secrets.token_hex(16))
        for pos in self.settings.points_of_sale:
            state.behaviours[pos.pos_id] = pos.behaviour.model_copy()
        return StateFile(gateway=state)

    def reset(self) -> None:
        """Forget everything but the settings."""
        fresh = self._fresh()
        self.state, self.deliveries, self.rules = fresh.gateway, fresh.deliveries, Rules()
        self.calls.calls.clear()
        self._called_at.clear()

    def now(self) -> datetime:
        """The sandbox's time: the clock's, and what it was moved forward by."""
        return self.settings.clock() + self.state.clock_offset

    def point_of_sale(self, pos_id: UUID) -> PointOfSale:
        """The point of sale. Raises UnknownRecordError."""
        try:
            return self.points_of_sale[pos_id]
        except KeyError:
            raise UnknownRecordError("Point of sale not found") from None

    def count_call(self, pos_id: UUID) -> None:
        """Count a call of a point of sale. Raises TooManyCallsError when it has called too often in the last minute."""
        most = self.state.behaviour(pos_id).calls_per_minute
        if most is None:
            return
        now, called = self.now(), self._called_at.setdefault(pos_id, deque())
        while called and called[0] <= now - _MINUTE:
            called.popleft()
        if len(called) >= most:
            raise TooManyCallsError
        called.append(now)

    # What follows a change -----------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Let everything happen that is due by now."""
        if tick(self.state, self.now()):
            self.publish_changes()

    def publish_changes(self) -> None:
        """Tell the merchants what happened and keep the state. Called after every change."""
        for entry in self.state.take_changes():
            self._tell(entry)
        self.save()

    def save_silently(self) -> None:
        """Keep the state, and tell nobody what has just happened."""
        self.state.take_changes()
        self.save()

    def save(self) -> None:
        """Write the state file, whole or not at all."""
        if self.settings.state is not None:
            text = StateFile(gateway=self.state, deliveries=self.deliveries).model_dump_json()
            _write(self.settings.state, text)

    # Webhooks ------------------------------------------------------------------------------------------------

    def start_sending(self, webhook_sender: WebhookSender) -> None:
        """Begin to deliver; what a former run left waiting goes first."""
        self.webhook_sender = webhook_sender
        for delivery in self.deliveries:
            if delivery.state == "waiting":
                webhook_sender.take(delivery)

    def _tell(self, entry: Payment | Operation) -> None:
        if entry.server_url is None or entry.pos_id not in self.points_of_sale:
            return  # the state file may know points of sale that this run does not serve
        rule = self.rules.take_webhook(entry)
        effect = rule.effect if rule else None
        secret = _FORGER if effect == "forge" else None
        delivery = self.write_webhook(entry, entry.server_url, secret=secret)
        if rule is not None and effect == "delay":
            delivery.delay = rule.seconds
        if effect in {"hold", "drop"}:
            delivery.state = "held" if effect == "hold" else "dropped"
            return
        self.send(delivery)
        if rule is not None and effect == "duplicate":
            for _ in range(rule.copies):
                self.repeat(delivery)

    def write_webhook(
        self,
        entry: Payment | Operation,
        url: str,
        *,
        changes: dict[str, Any] | None = None,
        secret: str | None = None,
    ) -> Delivery:
        """A signed webhook about an entry as it is, not sent yet. `changes` overwrite fields, `secret` the signer."""
        fields = webhook_fields(self.state, entry) | (changes or {})
        data = encode_data(fields, padded=self.state.behaviour(entry.pos_id).pad_webhook_data)
        own_secret = self.point_of_sale(entry.pos_id).api_secret.get_secret_value()
        delivery = Delivery(
            delivery_id=self.state.new_id(),
            pos_id=entry.pos_id,
            order_id=entry.order_id,
            payment_id=entry.payment_id,
            operation_id=entry.operation_id if isinstance(entry, Operation) else None,
            method=entry.method,
            status=str(fields.get("status", "")),
            status_code=entry.status_code,
            url=url,
            data=data,
            signature=sign(data, secret or own_secret),
            created_at=self.now(),
        )
        self.deliveries.append(delivery)
        return delivery

    def repeat(self, delivery: Delivery) -> Delivery:
        """Send the very same webhook once more."""
        copy = delivery.model_copy(
            update={"delivery_id": self.state.new_id(), "tries": [], "delay": 0.0, "created_at": self.now()}
        )
        self.deliveries.append(copy)
        self.send(copy)
        return copy

    def send(self, delivery: Delivery) -> None:
        """Hand a webhook to the sender. Without one (nothing runs yet) it waits."""
        delivery.state = "waiting"
        if self.webhook_sender is not None:
            self.webhook_sender.take(delivery)


def _load(path: Path | None) -> StateFile | None:
    if path is None or not path.exists():
        return None
    return StateFile.model_validate_json(path.read_bytes())


def _write(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
