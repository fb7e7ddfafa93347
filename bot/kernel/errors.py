"""The two kinds of failure. An adapter translates its library's errors into them once, `raise ... from error`.

`TransientError`: the same call may succeed later. `PermanentError`: it will not, until a person or a setting changes
something. Anything else that is raised is a bug: it gets its traceback, bounded retries, and ends parked and visible.
"""

from __future__ import annotations

from datetime import timedelta


class OpenExecutiveError(Exception):
    """Base of the two kinds. `message` is for the person who must act and never carries a secret."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class TransientError(OpenExecutiveError):
    """May pass by itself. `retry_after` is what the other side asked for, if it did."""

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentError(OpenExecutiveError):
    """Will not pass by itself."""


class UncertainError(TransientError):
    """The effect may or may not have happened (for example a cut connection after the request was written)."""
