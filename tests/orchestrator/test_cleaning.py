from __future__ import annotations

import threading
from collections.abc import Collection

import pytest

from bot.gateway.text_links import inert
from bot.orchestrator import cleaning


@pytest.mark.parametrize(("length", "beside"), [(cleaning.AT_ONCE - 100, False), (cleaning.AT_ONCE + 1, True)])
async def test_a_long_text_is_cleaned_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, length: int, beside: bool
) -> None:
    threads: list[bool] = []

    def watched(markdown: str, permitted: Collection[str]) -> str:
        threads.append(threading.current_thread() is not threading.main_thread())
        return inert(markdown, permitted)

    monkeypatch.setattr(cleaning, "inert", watched)
    text = await cleaning.cleaned("x" * length + " https://evil.example/?d=1", frozenset())
    assert text == "x" * length + " `https[:]//evil[.]example/?d=1`"
    assert threads == [beside]
