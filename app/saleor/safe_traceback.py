"""Where an unexpected error happened, in a form that is safe to log: no message, no values, only names and lines.

An error's own message can hold what was being handled at that moment, and that may be a card.
"""

import traceback
from pathlib import Path

DEEPEST = 6


def safe_traceback(error: BaseException) -> list[str]:
    """Return the innermost frames, outermost of them first, as ``file.py:12 function``."""
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
