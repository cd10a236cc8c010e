"""One running sandbox: the gateway's state, the fault rules, webhooks, clock and state file."""

import asyncio
import contextlib
import os
import secrets
import tempfile
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field, ValidationError

from gateway_client.sandbox.calls import CallLog
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Operation, Payment
from gateway_client.sandbox.core.refusals import TooManyCallsError, UnknownRecordError
from gateway_client.sandbox.core.timers import tick
from gateway_client.sandbox.deliveries import Delivery, WebhookSender
from gateway_client.sandbox.render import encode_data, webhook_fields
from gateway_client.sandbox.scripting import Rules
from gateway_client.sandbox.settings import PointOfSale, SandboxSettings
from gateway_client.signature import sign

_MINUTE = timedelta(minutes=1)
_WRONG_SIGNING_KEY = "not the secret of this point of sale"


class StateFileError(Exception):
    """The state file cannot be read or written, or is none; the message says which."""


class StateFile(BaseModel):
    """The content of the state file."""

    gateway: GatewayState
    deliveries: list[Delivery] = Field(default_factory=list)


class Sandbox:
    """The simulated gateway. Every change happens between two awaits, so no change sees another half done.

    Raises StateFileError.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self.points_of_sale = {pos.pos_id: pos for pos in settings.points_of_sale}
        self.rules = Rules()
        self.rules_cleared = asyncio.Event()  # of these rules: the next ones have their own
        self.calls = CallLog()
        self._call_times: dict[UUID, deque[datetime]] = {}
        self.webhook_sender: WebhookSender | None = None
        stored = _load(settings.state) or self._new_state_file()
        self.state = stored.gateway
        self.deliveries = stored.deliveries
        for pos in settings.points_of_sale:  # points of sale that are new to the state file
            self.state.behaviours.setdefault(pos.pos_id, pos.behaviour.model_copy())

    def _new_state_file(self) -> StateFile:
        state = GatewayState(seed=self.settings.seed if self.settings.seed is not None else secrets.token_hex(16))
        for pos in self.settings.points_of_sale:
            state.behaviours[pos.pos_id] = pos.behaviour.model_copy()
        return StateFile(gateway=state)

    def reset(self) -> None:
        """Clear everything but the settings."""
        initial = self._new_state_file()
        self.state, self.deliveries = initial.gateway, initial.deliveries
        self.clear_rules()
        self.calls.calls.clear()
        self._call_times.clear()

    def clear_rules(self) -> None:
        """Clear all rules and scripted outcomes, and end the delays of earlier rules."""
        self.rules = Rules()
        self.state.scripts.clear()
        self.rules_cleared.set()
        self.rules_cleared = asyncio.Event()

    def now(self) -> datetime:
        """Return the sandbox's time: the clock's time plus the offset by which it was moved forward."""
        return self.settings.clock() + self.state.clock_offset

    def point_of_sale(self, pos_id: UUID) -> PointOfSale:
        """Return the point of sale. Raises UnknownRecordError."""
        try:
            return self.points_of_sale[pos_id]
        except KeyError:
            raise UnknownRecordError("Point of sale not found") from None

    def count_call(self, pos_id: UUID) -> None:
        """Count a call of a point of sale. Raises TooManyCallsError above its limit for one minute."""
        limit = self.state.behaviour(pos_id).calls_per_minute
        if limit is None:
            return
        now, call_times = self.now(), self._call_times.setdefault(pos_id, deque())
        while call_times and call_times[0] <= now - _MINUTE:
            call_times.popleft()
        if len(call_times) >= limit:
            raise TooManyCallsError
        call_times.append(now)

    # Changes -------------------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Apply all changes that are due by now."""
        if tick(self.state, self.now()):
            self.publish_changes()

    def publish_changes(self) -> None:
        """Send the webhooks of the changes and save the state. Called after every change."""
        for entry in self.state.take_changes():
            self._notify_merchant(entry)
        self.save()

    def save_without_webhooks(self) -> None:
        """Save the state, and send no webhooks of the latest changes."""
        self.state.take_changes()
        self.save()

    def save(self) -> None:
        """Write the state file, atomically."""
        if self.settings.state is not None:
            text = StateFile(gateway=self.state, deliveries=self.deliveries).model_dump_json()
            _write_atomically(self.settings.state, text)

    # Webhooks ------------------------------------------------------------------------------------------------

    def start_sending(self, webhook_sender: WebhookSender) -> None:
        """Start to deliver; webhooks that an earlier run left waiting go first."""
        self.webhook_sender = webhook_sender
        for delivery in self.deliveries:
            if delivery.state == "waiting":
                webhook_sender.enqueue(delivery)

    def _notify_merchant(self, entry: Payment | Operation) -> None:
        if entry.server_url is None or entry.pos_id not in self.points_of_sale:
            return  # the state file may have points of sale that this run does not serve
        rule = self.rules.take_webhook_rule(entry)
        effect = rule.effect if rule else None
        secret = _WRONG_SIGNING_KEY if effect == "forge" else None
        delivery = self.create_webhook(entry, entry.server_url, secret=secret)
        if rule is not None and effect == "delay":
            delivery.delay = rule.seconds
        if effect in {"hold", "drop"}:
            delivery.state = "held" if effect == "hold" else "dropped"
            return
        self.send(delivery)
        if rule is not None and effect == "duplicate":
            for _ in range(rule.copies):
                self.repeat(delivery)

    def create_webhook(
        self,
        entry: Payment | Operation,
        url: str,
        *,
        changes: dict[str, Any] | None = None,
        secret: str | None = None,
    ) -> Delivery:
        """Create a signed webhook of an entry's current state, without sending it.

        `changes` overwrite fields; `secret` replaces the signing secret.
        """
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
        """Send an identical copy of a webhook; return the copy."""
        copy = delivery.model_copy(
            update={"delivery_id": self.state.new_id(), "tries": [], "delay": 0.0, "created_at": self.now()}
        )
        self.deliveries.append(copy)
        self.send(copy)
        return copy

    def send(self, delivery: Delivery) -> None:
        """Hand a webhook to the sender. While there is none (nothing runs yet), it waits."""
        delivery.state = "waiting"
        if self.webhook_sender is not None:
            self.webhook_sender.enqueue(delivery)


def _load(path: Path | None) -> StateFile | None:
    if path is None:
        return None
    try:
        stored = StateFile.model_validate_json(path.read_bytes()) if path.exists() else None
        with tempfile.TemporaryFile(dir=path.parent):  # each change is written there
            return stored
    except ValidationError as exc:
        raise StateFileError(f"{path} is not the state of a sandbox") from exc
    except OSError as exc:
        raise StateFileError(f"{path} cannot be used: {exc.strerror}") from exc


def _write_atomically(path: Path, text: str) -> None:
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
