"""What a notification leads to, said beforehand: for tests of who stores it, and not of who decides."""

from dataclasses import dataclass

from app.core.notification import NotificationFact, Outcome, OutcomeCode, ProcessingResult

APPLIED = Outcome(OutcomeCode.APPLIED, ("create", "success"))


@dataclass(frozen=True, slots=True)
class Decided(NotificationFact):
    """A notification that leads to ``outcome`` and changes nothing."""

    outcome: Outcome = APPLIED

    def decide(self, *_: object) -> ProcessingResult:
        return ProcessingResult(self.outcome)
