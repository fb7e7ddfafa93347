"""The server in the daemon's loop: it installs no signal handler, logs no request, and stops when it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator, Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from bot.gateway.channel import HttpRoute
from bot.kernel.errors import PermanentError
from bot.kernel.supervise import cancel, start
from bot.web import hooks, pages
from bot.web.guard import Guard
from bot.web.hosts import Allowed
from bot.web.patient import Patient

log = logging.getLogger(__name__)

STOP_WITHIN = 5
"""Seconds that requests in work have when the server stops."""
AT_ONCE = 256
"""Connections; more are answered 503."""


class Server:
    """`host` and `port` as in the settings (port 0: any). `status` is what `/health` shows, `routes` are the channels'
    own. `on_refused` hears why a request was turned away: `bad_host`, `bad_origin`, `body_too_large`, `body_too_slow`,
    `body_cut_off`, `webhook_unauthenticated`, and what `bot.web.api` tells. `api` are its routes.
    `on_stop` ends answers that would not end by themselves."""

    def __init__(
        self,
        host: str,
        port: int,
        allowed_hosts: Sequence[str],
        status: pages.Status,
        routes: Sequence[HttpRoute],
        on_refused: Callable[[str], None],
        api: Sequence[BaseRoute] = (),
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self._host = host
        self._on_stop = on_stop
        self._wanted_port = port
        self._socket: socket.socket | None = None
        self._port: int | None = None
        app = Starlette(
            routes=[*pages.routes(status), *hooks.routes(routes, on_refused), *api],
            middleware=[Middleware(Guard, Allowed.of(allowed_hosts), on_refused)],
        )
        app.router.redirect_slashes = False
        self._config = uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            log_level="error",  # its warnings are a line for every broken request: anybody could fill the log
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=AT_ONCE,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=STOP_WITHIN,
        )

    @property
    def port(self) -> int:
        """The port in use. Raises RuntimeError before `listen`."""
        if self._port is None:
            raise RuntimeError("the server does not listen yet")
        return self._port

    def listen(self) -> None:
        """Take the port; connections made from now on wait for `run`. Raises `PermanentError` if it cannot be had."""
        if self._socket is not None:
            return
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self._host, self._wanted_port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listener = socket.socket(family, kind, protocol)
        except OSError as error:
            raise PermanentError(f"web.host {self._host} cannot be listened on: {error.strerror or error}") from error
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
        except OSError as error:
            listener.close()
            raise PermanentError(
                f"{self._host} port {self._wanted_port} cannot be listened on: {error.strerror or error}; "
                "choose another with OPENEXECUTIVE_WEB__PORT"
            ) from error
        listener.setblocking(False)
        self._socket = listener
        self._port = listener.getsockname()[1]

    def close(self) -> None:
        """Give the port up again, if `run` has not taken over."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def run(self) -> None:
        """Serve until cancelled; then requests in work are ended within `STOP_WITHIN` seconds."""
        self.listen()
        assert self._socket is not None  # noqa: S101 - for the type checker
        listener, self._socket = self._socket, None
        log.info("web: listening on http://%s:%d", f"[{self._host}]" if ":" in self._host else self._host, self.port)
        server = _Uvicorn(self._config)
        serving = start("web", server.serve([listener]))
        try:
            await asyncio.wait({serving})
            await serving
        finally:
            if self._on_stop is not None:
                self._on_stop()
            server.stop()
            stopped, _ = await asyncio.wait({serving}, timeout=STOP_WITHIN + 1)
            if not stopped:
                await cancel(serving)
            listener.close()


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stopping.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the daemon's."""
        yield

    async def main_loop(self) -> None:
        """Wait for the stop. The original wakes ten times a second to keep the Date header fresh, which we do not send,
        and would be most of an idle daemon's work."""
        await self._stopping.wait()
