"""Chooses the model adapter. Adapters are imported only when chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from bot.kernel.clock import Clock
from bot.llm.model import CredentialsError, Model


def build(
    *,
    provider: Literal["auto", "anthropic", "offline"],
    api_key: str | None,
    base_url: str | None,
    fallback: Mapping[str, str | None],
    clock: Clock,
) -> Model:
    """The model that settings ask for; `auto` is `anthropic` when a key or a base URL is set, else `offline`.

    `fallback`: for each model the one asked when it is unavailable, or None. Raises `CredentialsError` if `anthropic`
    is asked for with neither key nor base URL. The caller closes the model.
    """
    configured = bool(api_key or base_url)
    if provider == "offline" or (provider == "auto" and not configured):
        from bot.llm.offline import OfflineModel

        return OfflineModel()
    if not configured:
        raise CredentialsError("llm.provider is anthropic, but neither llm.api_key nor llm.base_url is set.")
    from bot.llm import anthropic

    return anthropic.build(api_key, base_url, fallback, clock)
