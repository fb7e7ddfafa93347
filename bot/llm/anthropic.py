"""How the Anthropic adapter is made. Light: the SDK (1.3 s, 80 MB) is imported by the functions, when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, get_args

from bot.kernel.clock import Clock
from bot.kernel.imports import without
from bot.kernel.logs import Redactor
from bot.kernel.retry import Backoff

if TYPE_CHECKING:
    from bot.llm.anthropic_adapter import AnthropicModel

BASE_URL = "https://api.anthropic.com"
BACKOFF = Backoff(first=timedelta(milliseconds=500), cap=timedelta(seconds=30))
SILENCE = timedelta(minutes=2)


def build(
    api_key: str | None,
    base_url: str | None,
    fallback: Mapping[str, str | None],
    clock: Clock,
    *,
    timeout: timedelta = SILENCE,
    backoff: Backoff = BACKOFF,
) -> AnthropicModel:
    """The model behind `base_url` (None: Anthropic's own).

    `fallback` names for each model the one that is asked when it is overloaded or unavailable. `timeout` is the
    longest silence of the server; a whole call ends at its request's deadline. `backoff` also caps `retry-after`.
    Without a key a placeholder is sent: servers of one's own mostly do not look at it.
    """
    with without("aiohttp"):  # it would be loaded for a client that is not used: 10 MB, a tenth of the start
        from anthropic import AsyncAnthropic

    from bot.llm.anthropic_adapter import AnthropicModel, timeouts

    client = AsyncAnthropic(
        api_key=api_key or "none", base_url=base_url or BASE_URL, timeout=timeouts(timeout), max_retries=0
    )
    return AnthropicModel(client, dict(fallback), clock, backoff, Redactor([api_key] if api_key else []))


def known_models() -> frozenset[str]:
    """The model ids that the installed SDK lists. Newer ones may exist: a reason to warn, not to refuse."""
    from anthropic.types.model import Model

    return frozenset(name for part in get_args(Model) for name in get_args(part))


def retired_models() -> Mapping[str, str]:
    """Ids that the installed SDK calls deprecated, with the date of their end as it writes it."""
    from anthropic.resources.messages import DEPRECATED_MODELS

    return dict(DEPRECATED_MODELS)
