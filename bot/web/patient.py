"""One HTTP connection with bounds that uvicorn leaves out: how long a request's head may take, and how many connections
there are. Without them whoever reaches the port could hold it by sending nothing, or a letter now and then."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN = 15.0
"""Seconds until a request's line and headers must be there, on a new connection and on one that is kept; its body has a
bound of its own (`hooks`)."""
MOST = 400
"""Open connections; more than the server answers at a time, so that those over it are told so (503). Whoever comes
then is hung up on."""


class Patient(H11Protocol):
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._at_work():
            self._stop_waiting()
        elif self._head is None:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._at_work() and self._head is None:
            self._wait_for_head()  # also when the beginning of the next came together with this one

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _at_work(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait_for_head(self) -> None:
        self._head = self.loop.call_later(HEAD_WITHIN, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_slow(self) -> None:
        self._head = None
        if not self._at_work():
            self.transport.close()
