"""Slack over HTTP and WebSocket: the Web API, Socket Mode, uploads and private files.

`world` is what people do (`world.message("C1", "U1", "hi")`); `deliveries` is what really reached them, counted by
arrival; `effects` the edits, reactions, statuses and the like; `requests` every call; `sent` the envelopes and `acks`
their acknowledgements. Endpoints for faults are the method names (`chat.postMessage`), `upload`, `file` (downloads),
`link` (opening a socket) and `respond` (response_url). `Answer(200, "not_in_channel")` is `ok: false` with that error.
Source: the public Slack API reference.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from aiohttp import web

from tests.fakes.faults import Answer, Fault, Record
from tests.fakes.httpserver import HttpFake, Outcome, arguments, json_body, record_route, serve_until_stopped
from tests.fakes.slack_methods import ApiError, Arguments, Methods
from tests.fakes.slack_socket import Sockets
from tests.fakes.slack_world import APP, BOT_USER, TEAM, World

JsonObject = dict[str, Any]

BOT_TOKEN = "xoxb-1000001-test-token"
APP_TOKEN = "xapp-1-A0EXECAPP1-test-token"
SIGN_IN = b"<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to Company</body></html>"
RETRIES = (1.0, 2.0, 6.0)


class FakeSlack(HttpFake):
    """The server of one workspace and one app. `base_url` is what `channels.slack.base_url` wants.

    `retries`: seconds after which an event that is not acknowledged is delivered again; empty: only by
    `sockets.redeliver()`.
    """

    kind: ClassVar[str] = "slack"

    def __init__(
        self,
        *,
        port: int = 0,
        log: Path | None = None,
        keep: int | None = None,
        retries: Sequence[float] = (),
    ) -> None:
        super().__init__(port=port, log=log, keep=keep)
        self.deliveries = Record("delivery", log, keep)
        self.effects = Record("effect", log, keep)
        self.acks = Record("ack", log, keep)
        self.sent = Record("envelope", log, keep)
        self.sockets = Sockets(self.acks, self.sent, retries)
        self.world = World(self.sockets.event, lambda: self.url)
        self.methods = Methods(self.world, self.deliveries, self.effects, lambda: self.url)
        self._limits: dict[str, tuple[int, float, deque[float]]] = {}
        self._numbers = itertools.count(1)
        self.app_token_error: str | None = None

    @property
    def base_url(self) -> str:
        return f"{self.url}/api"

    def texts(self, channel: str, thread_ts: str | None = None) -> list[str]:
        """What people see of the messages delivered to a conversation (and thread), in order of arrival."""
        return [
            str(one.body["shown"])
            for one in self.deliveries
            if one.body["channel"] == channel and thread_ts in (None, one.body["thread_ts"])
        ]

    def shown(self, channel: str, ts: str) -> str:
        """What people see of a message now."""
        from tests.fakes.slack_blocks import shown

        return shown(self.world.conversations[channel].messages[ts])

    def limit(self, method: str, calls: int, seconds: float) -> None:
        """A rate tier: `calls` of `method` within `seconds`, beyond that 429 with Retry-After."""
        self._limits[method] = (calls, seconds, deque())

    # HTTP.

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/api/{method}", self._method)
        router.add_get("/link", self._link)
        router.add_post("/upload/{file}", self._upload)
        router.add_get("/files-pri/{file}/{name}", self._download)
        router.add_get("/cdn/{file}", self._cdn)
        router.add_post("/respond/{number}", self._respond)

    async def closing(self) -> None:
        await self.sockets.closing()

    def refusal(self, answer: Answer) -> web.Response:
        if answer.status == 429:
            return _limited(answer.retry_after or 30)
        if answer.status == 200:
            return web.json_response({"ok": False, "error": answer.body or "internal_error"})
        return web.Response(status=answer.status, text=answer.body or "upstream error", content_type="text/html")

    async def _method(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        name = request.match_info["method"]
        given: JsonObject = dict(request.query)
        if request.content_type == "application/json":
            given |= await request.json()
        elif raw:
            given |= dict(await request.post())
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or str(given.pop("token", ""))

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            limited = self._over_limit(name)
            if limited is not None:
                return limited
            try:
                body = self._call(name, token, Arguments(given))
            except ApiError as error:
                return self._answer({"ok": False, "error": error.code, **error.more})
            return self._answer({"ok": True, **body})

        return await self.serve(request, name, given, raw, effect)

    def _call(self, name: str, token: str, args: Arguments) -> JsonObject:
        if name == "apps.connections.open":
            if token != APP_TOKEN or self.app_token_error is not None:
                raise ApiError(self.app_token_error or "invalid_auth")
            ticket = self.sockets.ticket()
            return {"url": f"ws://127.0.0.1:{self.port}/link?ticket={ticket}&app_id={APP}"}
        if token != BOT_TOKEN:
            raise ApiError("invalid_auth" if token else "not_authed")
        if name not in self.methods:
            raise ApiError("unknown_method")
        return self.methods.call(name, args)

    def _answer(self, body: JsonObject) -> web.Response:
        return web.json_response(body, headers={"X-OAuth-Scopes": ",".join(sorted(self.methods.scopes))})

    def _over_limit(self, name: str) -> web.Response | None:
        if name not in self._limits:
            return None
        calls, seconds, seen = self._limits[name]
        now = time.monotonic()
        while seen and now - seen[0] >= seconds:
            seen.popleft()
        if len(seen) >= calls:
            return _limited(max(1, round(seconds - (now - seen[0]))))
        seen.append(now)
        return None

    async def _link(self, request: web.Request) -> web.StreamResponse:
        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            return self.sockets.serve

        return await self.serve(request, "link", dict(request.query), b"", effect)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        if request.content_type.startswith("multipart/"):
            (part,) = (await request.post()).values()
            data = part.file.read() if isinstance(part, web.FileField) else str(part).encode()

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            if not self.methods.take_upload(request.match_info["file"], data):
                return web.Response(status=400, text="bad upload")
            return web.Response(text=f"OK - {len(data)}")

        return await self.serve(request, "upload", {"file": request.match_info["file"]}, b"", effect)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            file = self.world.files.get(request.match_info["file"].partition("-")[2])
            allowed = request.headers.get("Authorization") == f"Bearer {BOT_TOKEN}"
            if file is None or not allowed or "files:read" not in self.methods.scopes or self.methods.dead:
                return web.Response(body=SIGN_IN, content_type="text/html", charset="utf-8")
            if file.redirect:
                return web.Response(status=302, headers={"Location": f"http://localhost:{self.port}/cdn/{file.id}"})
            return _file(file.data, file.mimetype, file.name)

        return await self.serve(request, "file", {"path": request.path}, b"", effect)

    async def _cdn(self, request: web.Request) -> web.StreamResponse:
        """Another host, which must not see the token."""

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            file = self.world.files[request.match_info["file"]]
            self.effects.add("cdn", {"authorization": request.headers.get("Authorization")})
            return _file(file.data, file.mimetype, file.name)

        return await self.serve(request, "cdn", {"path": request.path}, b"", effect)

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            self.effects.add("respond", body)
            return web.Response(text="ok")

        return await self.serve(request, "respond", body, b"", effect)

    # What people do by menus and buttons.

    def _interaction(self, channel: str, user: str) -> JsonObject:
        number = next(self._numbers)
        place = self.world.conversations[channel]
        return {
            "team": {"id": TEAM, "domain": "company"},
            "user": {"id": user, "username": self.world.users[user]["name"], "team_id": TEAM},
            "api_app_id": APP,
            "channel": {"id": channel, "name": "directmessage" if place.kind == "im" else place.name},
            "trigger_id": f"{number}.1000.abcdef",
            "response_url": f"{self.url}/respond/{number}",
        }

    def command(self, channel: str, user: str, text: str, command: str = "/executive") -> JsonObject:
        number = next(self._numbers)
        place = self.world.conversations[channel]
        payload = {
            "team_id": TEAM,
            "team_domain": "company",
            "channel_id": channel,
            "channel_name": {"im": "directmessage", "group": "privategroup"}.get(place.kind, place.name),
            "user_id": user,
            "user_name": self.world.users[user]["name"],
            "command": command,
            "text": text,
            "api_app_id": APP,
            "is_enterprise_install": "false",
            "trigger_id": f"{number}.1000.abcdef",
            "response_url": f"{self.url}/respond/{number}",
        }
        self.sockets.deliver("slash_commands", payload)
        return payload

    def shortcut(self, channel: str, user: str, ts: str, callback: str = "ask_executive") -> JsonObject:
        """A message shortcut."""
        message = self.world.conversations[channel].messages[ts]
        more = {"type": "message_action", "callback_id": callback, "message_ts": ts, "message": message}
        payload = self._interaction(channel, user) | more | {"action_ts": self.world.stamp()}
        self.sockets.deliver("interactive", payload)
        return payload

    def press(self, channel: str, user: str, ts: str, value: str, action_id: str = "choice-0") -> JsonObject:
        message = self.world.conversations[channel].messages[ts]
        container = {"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": False}
        if "thread_ts" in message:
            container["thread_ts"] = message["thread_ts"]
        action = {
            "type": "button",
            "action_id": action_id,
            "block_id": "b",
            "value": value,
            "action_ts": self.world.stamp(),
        }
        more = {"type": "block_actions", "container": container, "message": message, "actions": [action]}
        payload = self._interaction(channel, user) | more
        self.sockets.deliver("interactive", payload)
        return payload

    def submit(self, channel: str, user: str, values: dict[str, str]) -> JsonObject:
        """Somebody sends the form that was opened last. The conversation is in it only if the app has put it there."""
        view = self.methods.views[-1]
        entered = {
            block["block_id"]: {block["element"]["action_id"]: {"type": "plain_text_input", "value": values[name]}}
            for block in view["blocks"]
            if (name := block["block_id"]) in values
        }
        payload = self._interaction(channel, user) | {
            "type": "view_submission",
            "view": {**view, "team_id": TEAM, "state": {"values": entered}},
            "response_urls": [],
        }
        del payload["channel"], payload["response_url"]
        self.sockets.deliver("interactive", payload)
        return payload

    def revoke(self, bot: bool = True, users: Sequence[str] = ()) -> None:
        """`tokens_revoked`: the bot's token, or only those of members."""
        if bot:
            self.methods.dead = "token_revoked"
        tokens = {"oauth": list(users), "bot": [BOT_USER] if bot else []}
        self.world.event({"type": "tokens_revoked", "tokens": tokens})

    # Control.

    def add_control(self, router: web.UrlDispatcher) -> None:
        async def act(request: web.Request) -> web.Response:
            body = await json_body(request)
            name = request.match_info["name"]
            if name not in ACTS:
                raise web.HTTPNotFound(text=f"no act {name}")
            owner: Any = self if name in OWN_ACTS else self.world
            result = getattr(owner, name)(**body)
            return web.json_response(result if isinstance(result, dict | list | str) else None)

        async def socket(request: web.Request) -> web.Response:
            body = await json_body(request)
            match request.match_info["what"]:
                case "deafen":
                    self.sockets.deafen()
                case "disconnect":
                    await self.sockets.disconnect(body["reason"])
                case "redeliver":
                    self.sockets.redeliver()
                case _:
                    raise web.HTTPNotFound
            return web.json_response({})

        async def state(request: web.Request) -> web.Response:
            links = {"links": len(self.sockets.links), "opened": self.sockets.opened, "most": self.sockets.most}
            return web.json_response({**links, "waiting": len(self.sockets.waiting)})

        async def upload(request: web.Request) -> web.Response:
            query = request.query
            file_id = self.world.add_file(await request.read(), query["name"], query["mime"])
            return web.json_response({"file_id": file_id})

        router.add_post("/_control/world/{name}", act)
        router.add_post("/_control/socket/{what}", socket)
        router.add_get("/_control/socket", state)
        router.add_post("/_control/files", upload)
        router.add_get("/_control/deliveries", record_route(self.deliveries))
        router.add_get("/_control/effects", record_route(self.effects))
        router.add_get("/_control/acks", record_route(self.acks))
        router.add_get("/_control/envelopes", record_route(self.sent))


OWN_ACTS = frozenset({"command", "shortcut", "press", "submit", "revoke", "limit"})
ACTS = OWN_ACTS | frozenset(
    {
        "add_user",
        "add_conversation",
        "event",
        "message",
        "direct_message",
        "edit",
        "unfurl",
        "delete",
        "join",
        "leave",
        "rename",
        "share",
        "start_assistant",
    }
)


def _limited(seconds: int) -> web.Response:
    return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": str(seconds)})


def _file(data: bytes, mimetype: str, name: str) -> web.Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=data, content_type=mimetype, headers=headers)


async def main() -> None:
    parser = arguments("Slack")
    parser.add_argument("--retries", default=",".join(str(delay) for delay in RETRIES))
    options = parser.parse_args()
    retries = [float(part) for part in options.retries.split(",") if part]
    server = FakeSlack(port=options.port, log=options.log, keep=options.keep, retries=retries)
    async with server:
        hello = {
            "kind": server.kind,
            "port": server.port,
            "url": server.url,
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "base_url": server.base_url,
        }
        await serve_until_stopped(hello, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
