"""What `Finished.detail` may say besides a provider's own unknown stop reason."""

from __future__ import annotations

CUT_IN_TOOL_INPUT = "cut in the input of a tool call"
"""The room for the answer ended inside a tool call, which is therefore not part of the content."""

STILL_PAUSED = "paused too often"
"""The provider paused the turn more often than it is continued."""
