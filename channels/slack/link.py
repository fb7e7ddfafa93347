"""The one Socket Mode connection: opened, watched, closed before the next is opened.

The library's own client starts a task of its own for every envelope, so events of one conversation may overtake each
other, and it reconnects by a clock that cannot be watched. This loop keeps order per conversation, hands each envelope
to slack-bolt and acknowledges with what Bolt answers, which is after the commit. Source: Slack, "Using Socket Mode".
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.kernel.clock import Clock
from bot.kernel.errors import TransientError
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Supervisor, cancel, start
from channels.slack.client import SOCKET_CLOSE, Client, library_log
from channels.slack.errors import APP_REFUSED, CREDENTIALS, Failure, code_of, translate
from channels.slack.lanes import Lanes
from channels.slack.state import State

log = logging.getLogger(__name__)

PING_EVERY = timedelta(seconds=10)
STALE = timedelta(seconds=30)
"""A socket on which nothing came for so long, not even the answer to a ping, is deaf."""
STEADY = timedelta(seconds=10)
"""A socket that lived this long was a good one: the next failure starts the backoff anew."""
RECOUNT = timedelta(minutes=1)
RECOUNTS = 3
RECONNECT = Backoff(first=timedelta(seconds=0.5), cap=timedelta(seconds=30))
SLOW = timedelta(minutes=5)
LINK_DISABLED = "Socket Mode is switched off for the app: switch it on in the app's settings"
MAX_FRAME = 16 * 1024 * 1024

Dispatch = Callable[[SocketModeRequest], Awaitable[BoltResponse]]


class _Socket(AsyncBaseSocketModeClient):
    """One connection as the library's responder wants it: something that sends."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.logger = library_log()
        self._socket = socket

    async def send_message(self, message: str) -> None:
        await self._socket.send_str(message)


class Link:
    """`on_up` is called when a socket has said hello, `on_down` when it is gone."""

    def __init__(
        self,
        client: Client,
        app_token: str,
        clock: Clock,
        supervisor: Supervisor,
        state: State,
        dispatch: Dispatch,
        lanes: Lanes,
        on_up: Callable[[], None],
        on_down: Callable[[], None],
    ) -> None:
        self._client = client
        self._app_token = app_token
        self._clock = clock
        self._supervisor = supervisor
        self._state = state
        self._dispatch = dispatch
        self._lanes = lanes
        self._on_up = on_up
        self._on_down = on_down
        self._heard: float | None = None
        self._recounts = 0
        self._lived = False

    def silent_for(self) -> timedelta | None:
        """How long nothing was heard on the open socket; None while there is none."""
        return None if self._heard is None else timedelta(seconds=self._clock.monotonic() - self._heard)

    async def run(self) -> None:
        """Stay connected until cancelled."""
        failures = 0
        while True:
            began = self._clock.monotonic()
            wait = await self._connect()
            if self._clock.monotonic() - began >= STEADY.total_seconds():
                failures = 0
            failures += 1
            if self._lived and wait is None and failures == 1:
                continue  # a socket that lived is replaced at once
            await self._clock.sleep(wait if wait is not None else RECONNECT.delay(failures))

    async def _connect(self) -> timedelta | None:
        """Live through one connection. Returns the pause that the platform or the fault asks for."""
        self._lived = False
        try:
            answer = await self._client.web.apps_connections_open(app_token=self._app_token)
            url = str(answer.get("url") or "")
        except Failure as error:
            return self._refused(error)
        try:
            async with self._client.session.ws_connect(
                url,
                autoping=False,
                max_msg_size=MAX_FRAME,
                proxy=self._client.web.proxy,
                timeout=aiohttp.ClientWSTimeout(ws_close=SOCKET_CLOSE),
            ) as socket:
                return await self._live(socket)
        except Failure as error:
            # The address holds a one-time ticket: only the kind of failure is told.
            self._state.bad(f"the socket to Slack cannot be opened ({type(error).__name__})")
            return None
        finally:
            if self._heard is not None:
                self._heard = None
                self._on_down()

    def _refused(self, error: BaseException) -> timedelta | None:
        code = code_of(error)
        if code in CREDENTIALS or code == "missing_scope":
            self._state.bad(APP_REFUSED.format(code=code))
            return SLOW
        failure = translate(error, effect=False)
        self._state.bad(failure.message)
        return failure.retry_after if isinstance(failure, TransientError) else None

    async def _live(self, socket: aiohttp.ClientWebSocketResponse) -> timedelta | None:
        watch = start("slack socket watch", self._watch(socket))
        try:
            async for frame in socket:
                self._heard = self._clock.monotonic()
                if frame.type is aiohttp.WSMsgType.PING:
                    await socket.pong(frame.data)
                elif frame.type is aiohttp.WSMsgType.TEXT:
                    over, wait = self._take(socket, _read(frame.data))
                    if over:
                        return wait
        finally:
            await cancel(watch)
        if self._state.receiving:
            self._state.bad("the socket to Slack was closed: reconnecting")
        return None

    def _take(self, socket: aiohttp.ClientWebSocketResponse, body: dict[str, Any]) -> tuple[bool, timedelta | None]:
        """Handle one message. Returns whether the connection is over, and the pause before the next one."""
        match body.get("type"):
            case "hello":
                self._lived = True
                self._count(int(body.get("num_connections") or 1))
                self._state.good()
                self._on_up()
            case "disconnect" if body.get("reason") == "link_disabled":
                self._state.bad(LINK_DISABLED)
                return True, SLOW
            case "disconnect":
                log.info("slack: the socket is to be replaced (%s)", body.get("reason"))
                return True, None
            case _:
                request = SocketModeRequest.from_dict(body)
                if request is not None:
                    self._supervisor.job("slack envelope", self._handle(_Socket(socket), request))
        return False, None

    async def _handle(self, socket: _Socket, request: SocketModeRequest) -> None:
        """Dispatch and acknowledge, one envelope of a conversation after the other. Jobs begin in the order in which
        they were started, and a lock is fair, so the order of the frames is kept."""
        async with self._lanes.of(lane_of(request.payload)):
            response = await self._dispatch(request)
            if response.status != 200:
                return  # not acknowledged: it comes again
            try:
                await send_async_response(socket, request, response, 0.0)
            except (ConnectionError, RuntimeError):
                log.info("slack: an acknowledgement found its socket closed; the envelope comes again")

    async def _watch(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Ping, and close a socket that went deaf or that shares its events with others."""
        opened = self._clock.monotonic()
        self._heard = opened
        while True:
            try:
                await socket.ping(b"openexecutive")
            except (ConnectionError, RuntimeError):
                return  # it is closed already: the reader knows
            await self._clock.sleep(PING_EVERY)
            now = self._clock.monotonic()
            if now - self._heard >= STALE.total_seconds():
                self._state.bad(f"the socket to Slack was silent for {now - self._heard:.0f} s: reconnecting")
                await socket.close()
                return
            if self._state.shared_with and self._recounts < RECOUNTS and now - opened >= RECOUNT.total_seconds():
                self._recounts += 1
                await socket.close()
                return

    def _count(self, connections: int) -> None:
        """Slack spreads events over all connections of the app. A dead one of ours is counted for a while, so the
        number is asked for again a few times before anyone is alarmed."""
        self._state.shared_with = connections - 1
        if connections <= 1:
            self._recounts = 0
        else:
            log.warning("slack: %s connections with this app token share its events", connections)


def lane_of(payload: Any) -> str:
    """What an envelope is about: events of one conversation are handled in order."""
    if not isinstance(payload, dict):
        return ""
    event = payload.get("event")
    place = (event if isinstance(event, dict) else payload).get("channel") or payload.get("channel_id") or ""
    return str(place.get("id") if isinstance(place, dict) else place)


def _read(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
