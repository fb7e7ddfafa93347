"""Routes that are loaded with the first request for one of them, in a thread of its own: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from starlette.routing import BaseRoute, Match, NoMatchFound, Router
from starlette.types import Receive, Scope, Send


class Later(BaseRoute):
    """All that is under `prefix` (`/…/`); `make` makes its routes, with their whole paths."""

    def __init__(self, prefix: str, make: Callable[[], Sequence[BaseRoute]]) -> None:
        self._prefix = prefix
        self._make = make
        self._router: Router | None = None
        self._loading = asyncio.Lock()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        under = scope["type"] == "http" and scope["path"].startswith(self._prefix)
        return (Match.FULL if under else Match.NONE), {}

    def url_path_for(self, name: str, /, **path_params: Any) -> NoReturn:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._loading:
            if self._router is None:
                self._router = Router(await asyncio.to_thread(self._make), redirect_slashes=False)
        await self._router(scope, receive, send)
