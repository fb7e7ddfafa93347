"""Discord over HTTP and WebSocket: REST v10, the gateway, attachments.

`world` is what people do (`world.dm(7, "hi")`); `deliveries` is what really reached them, counted by arrival;
`effects` the edits, threads, typing and the like; `requests` every REST call; `frames` what the client said on the
gateway. Endpoints for faults are the names in `ROUTES` (`createMessage`, `getMessages`, ...), `attachment` for
downloads, `gateway` for new connections (`CutAfter`), `requestMembers` (`CutBefore`), and an event's
name (`MESSAGE_CREATE`) for `Twice`.
`Answer(429, retry_after=n)` is worded as Discord does, with the `Via` header; with a body of its own it comes from
Cloudflare in front of it. `limit` plans a 429 with a fraction of a second, for one route or for all.
Source: Discord's public developer documentation.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

from aiohttp import BodyPartReader, web

from tests.fakes.discord_gateway import Gateway
from tests.fakes.discord_rest import CODES, ApiError, Rest
from tests.fakes.discord_world import File, World
from tests.fakes.faults import ANY, Answer, Fault, Record
from tests.fakes.httpserver import HttpFake, Outcome, arguments, json_body, record_route, serve_until_stopped

JsonObject = dict[str, Any]

TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.test.discord-token"
BOT = 9001
API = "/api/v10"
ROUTES: dict[str, tuple[str, str]] = {
    "me": ("GET", "/users/@me"),
    "application": ("GET", "/applications/@me"),
    "oauthApplication": ("GET", "/oauth2/applications/@me"),
    "gatewayUrl": ("GET", "/gateway"),
    "gatewayBot": ("GET", "/gateway/bot"),
    "createDM": ("POST", "/users/@me/channels"),
    "getUser": ("GET", "/users/{user}"),
    "getChannel": ("GET", "/channels/{channel}"),
    "modifyChannel": ("PATCH", "/channels/{channel}"),
    "getMessages": ("GET", "/channels/{channel}/messages"),
    "getMessage": ("GET", "/channels/{channel}/messages/{message}"),
    "createMessage": ("POST", "/channels/{channel}/messages"),
    "editMessage": ("PATCH", "/channels/{channel}/messages/{message}"),
    "deleteMessage": ("DELETE", "/channels/{channel}/messages/{message}"),
    "createReaction": ("PUT", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"),
    "deleteReaction": ("DELETE", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"),
    "typing": ("POST", "/channels/{channel}/typing"),
    "startThread": ("POST", "/channels/{channel}/messages/{message}/threads"),
    "joinThread": ("PUT", "/channels/{channel}/thread-members/@me"),
    "commands": ("PUT", "/applications/{application}/commands"),
    "guildCommands": ("PUT", "/applications/{application}/guilds/{guild}/commands"),
    "callback": ("POST", "/interactions/{interaction}/{token}/callback"),
    "followup": ("POST", "/webhooks/{application}/{token}"),
    "editOriginal": ("PATCH", "/webhooks/{application}/{token}/messages/@original"),
}
OPEN = ("callback", "followup", "editOriginal", "gatewayUrl")
"""Endpoints that need no token."""


class FakeDiscord(HttpFake):
    kind: ClassVar[str] = "discord"

    def __init__(
        self,
        *,
        token: str = TOKEN,
        username: str = "Exec",
        bot: int = BOT,
        port: int = 0,
        log: Path | None = None,
        keep: int | None = None,
        heartbeat: float = 41.25,
    ) -> None:
        """`heartbeat`: seconds between heartbeats."""
        super().__init__(port=port, log=log, keep=keep)
        self.token = token
        self.deliveries = Record("delivery", log, keep)
        self.effects = Record("effect", log, keep)
        self.frames = Record("frame", log, keep)
        self._limits: dict[str, list[JsonObject]] = {}
        self.world = World(bot, username, self._dispatch)
        self.gateway = Gateway(self.world, self.faults, self.frames, token, heartbeat)
        self.rest = Rest(self.world, self.deliveries, self.effects)

    @property
    def base_url(self) -> str:
        return self.url + API

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gw"

    def texts(self, channel: int | str) -> list[str]:
        """What the bot said in a channel, in order of arrival."""
        return [str(one.body["content"]) for one in self.deliveries if one.body["channel_id"] == str(channel)]

    def limit(self, endpoint: str, retry_after: float, *, everywhere: bool = False, times: int = 1) -> None:
        """Answer the next calls of `endpoint` (`*`: of any) with 429; `everywhere` says that the limit is global."""
        self._limits.setdefault(endpoint, []).extend([{"retry_after": retry_after, "global": everywhere}] * times)

    def _dispatch(self, event: str, payload: JsonObject) -> None:
        self.gateway.dispatch(event, payload)

    async def up(self) -> None:
        await super().up()
        self.world.file_url = self.url
        self.gateway.url = self.rest.gateway_url = self.gateway_url

    async def closing(self) -> None:
        self.gateway.drop()
        await asyncio.sleep(0)

    # HTTP.

    def add_routes(self, router: web.UrlDispatcher) -> None:
        for name, (method, path) in ROUTES.items():
            router.add_route(method, API + path, self._handler(name))
        router.add_get("/attachments/{id}/{name}", self._attachment)
        router.add_get("/gw", self.gateway.serve)

    def refusal(self, answer: Answer) -> web.Response:
        if answer.status == 429 and answer.body is None:
            return _limited({"retry_after": answer.retry_after or 0, "global": False})
        if answer.status == 429:
            headers = {"Retry-After": str(answer.retry_after)} if answer.retry_after is not None else {}
            return web.Response(status=429, text=answer.body, headers=headers)
        if answer.body is None:
            words = {401: "401: Unauthorized", 500: "500: Internal Server Error"}
            return _json({"message": words.get(answer.status, "planned"), "code": 0}, answer.status)
        return _json(json.loads(answer.body), answer.status)

    def _handler(self, name: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            body, files = await self._body(request)
            if name in ("createReaction", "deleteReaction"):
                body = {"added": name == "createReaction"}

            async def effect(faults: tuple[Fault, ...]) -> Outcome:
                if name not in OPEN and request.headers.get("Authorization") != f"Bot {self.token}":
                    return _json({"message": "401: Unauthorized", "code": 0}, 401)
                for endpoint in (name, ANY):
                    if self._limits.get(endpoint):
                        return _limited(self._limits[endpoint].pop(0))
                try:
                    result = self.rest.call(name, dict(request.match_info), body, files)
                except ApiError as error:
                    return _json(error.body, error.status)
                return web.Response(status=204) if result is None else _json(result, 200)

            shown = {**body, **request.match_info, "files": [file.name for file in files]}
            return await self.serve(request, name, shown, b"", effect)

        return handle

    async def _body(self, request: web.Request) -> tuple[JsonObject, list[File]]:
        if request.method == "GET":
            return dict(request.query), []
        if not request.content_type.startswith("multipart/"):
            raw = await request.read()
            value = json.loads(raw) if raw else {}
            return (value if isinstance(value, dict) else {"items": value}), []
        body: JsonObject = {}
        files: list[File] = []
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                continue
            data = bytes(await part.read(decode=True))
            if part.name == "payload_json":
                body = json.loads(data)
            elif (part.name or "").startswith("files["):
                kind = part.headers.get("Content-Type", "application/octet-stream")
                files.append(File(part.filename or "file", kind, data, len(data), self.world.snowflake()))
        return body, files

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            file = self.world.files.get(request.match_info["id"])
            if file is None:
                return web.Response(status=404, text="This content is no longer available.")
            return web.Response(body=file.data, content_type=file.mime)

        return await self.serve(request, "attachment", dict(request.match_info), b"", effect)

    # Control.

    def add_control(self, router: web.UrlDispatcher) -> None:
        async def act(request: web.Request) -> web.Response:
            body = await json_body(request)
            name = request.match_info["name"]
            if name not in ACTS:
                raise web.HTTPNotFound(text=f"no act {name}")
            result = getattr(self.world, name)(*body.get("args", ()), **body.get("kwargs", {}))
            return web.json_response(result if isinstance(result, dict | list | int | str) else None)

        async def gate(request: web.Request) -> web.Response:
            body = await json_body(request)
            name = request.match_info["name"]
            if name in ("muted", "deaf_to_heartbeats"):
                setattr(self.gateway, name, bool(body["on"]))
            elif name in ("reconnect", "invalidate", "close", "drop", "forget"):
                getattr(self.gateway, name)(**body)
            elif name == "forget_nonces":
                self.rest.forget_nonces()
            elif name == "limit":
                self.limit(**body)
            else:
                raise web.HTTPNotFound(text=f"no such fault: {name}")
            return web.json_response({"connected": len(self.gateway.connected)})

        async def upload(request: web.Request) -> web.Response:
            query = request.query
            size = int(query["size"]) if "size" in query else None
            return web.json_response(
                {"id": self.world.add_file(await request.read(), query["name"], query["mime"], size)}
            )

        router.add_post("/_control/world/{name}", act)
        router.add_post("/_control/gateway/{name}", gate)
        router.add_post("/_control/files", upload)
        router.add_get("/_control/deliveries", record_route(self.deliveries))
        router.add_get("/_control/effects", record_route(self.effects))
        router.add_get("/_control/frames", record_route(self.frames))


ACTS = frozenset(
    {
        "add_user", "add_guild", "add_channel", "add_thread", "forum_post", "set_thread", "deny", "close_dms",
        "delete_channel", "add_member", "remove_member", "kick_bot", "message", "dm", "forward", "edit", "unfurl",
        "delete", "typing", "command", "press", "submit",
    }
)  # fmt: skip


def refused(code: int) -> Answer:
    """The answer with one of the platform's JSON error codes."""
    status, words = CODES[code]
    return Answer(status, json.dumps({"message": words, "code": code}))


def _json(value: Any, status: int) -> web.Response:
    # The client wants exactly this content type, without a charset.
    headers = {"Content-Type": "application/json", "Via": "1.1 google"}
    return web.Response(status=status, body=json.dumps(value).encode(), headers=headers)


def _limited(about: JsonObject) -> web.Response:
    answer = _json({"message": "You are being rate limited.", **about}, 429)
    answer.headers["Retry-After"] = str(about["retry_after"])
    answer.headers["X-RateLimit-Scope"] = "global" if about["global"] else "user"
    if about["global"]:
        answer.headers["X-RateLimit-Global"] = "true"
    else:
        answer.headers["X-RateLimit-Remaining"] = "0"
        answer.headers["X-RateLimit-Limit"] = "5"
        answer.headers["X-RateLimit-Reset-After"] = str(about["retry_after"])
    return answer


async def main() -> None:
    parser = arguments("Discord")
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--username", default="Exec")
    parser.add_argument("--bot", type=int, default=BOT)
    parser.add_argument("--heartbeat", type=float, default=41.25, help="seconds between heartbeats")
    options = parser.parse_args()
    server = FakeDiscord(
        token=options.token,
        username=options.username,
        bot=options.bot,
        port=options.port,
        log=options.log,
        keep=options.keep,
        heartbeat=options.heartbeat,
    )
    async with server:
        hello = {
            "kind": server.kind,
            "port": server.port,
            "url": server.url,
            "token": server.token,
            "base_url": server.base_url,
            "gateway_url": server.gateway_url,
            "bot": str(options.bot),
        }
        await serve_until_stopped(hello, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
