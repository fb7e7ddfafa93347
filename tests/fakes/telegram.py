"""The Telegram Bot API over HTTP: updates by long poll or webhook, methods, file downloads.

`world` is what people do (`world.private_message(7, "hi")`); `deliveries` is what really reached them, counted by
arrival; `effects` the edits, drafts, typing and the like; `requests` every call. Endpoints for faults are the method
names (`sendMessage`, `getUpdates`), `file` for downloads and `webhook` for deliveries to the bot. `Twice` on
`getUpdates` gives the updates of that answer again after they were confirmed; on `webhook` it posts twice.

Webhook addresses may be plain http with any port, as a Bot API server in local mode allows. A method call in the
body of a webhook answer is not obeyed. Source: the public Bot API reference.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, ClassVar

import aiohttp
from aiohttp import web

from tests.fakes.faults import Answer, CutBefore, Fault, Record, Twice, wall_seconds
from tests.fakes.httpserver import (
    HttpFake,
    Outcome,
    arguments,
    json_body,
    record_route,
    serve_until_stopped,
)
from tests.fakes.telegram_methods import MAX_DOWNLOAD, Methods
from tests.fakes.telegram_params import ApiError, Params, bad, read_params
from tests.fakes.telegram_world import World

JsonObject = dict[str, Any]

TOKEN = "7000001:test-token"
NOT_BY_DEFAULT = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
UPDATE_METHODS = ("getUpdates", "setWebhook", "deleteWebhook", "getWebhookInfo")
MAX_UPLOAD = 50 * 1024 * 1024


class FakeTelegram(HttpFake):
    """The server of one bot. `base_url` and `base_file_url` are what python-telegram-bot's builder wants."""

    kind: ClassVar[str] = "telegram"

    def __init__(
        self,
        *,
        token: str = TOKEN,
        username: str = "exec_bot",
        port: int = 0,
        log: Path | None = None,
        keep: int | None = None,
        webhook_retry: float = 0.05,
    ) -> None:
        """`webhook_retry`: seconds before a refused webhook delivery is tried again."""
        super().__init__(port=port, log=log, keep=keep)
        self.token = token
        self.deliveries = Record("delivery", log, keep)
        self.effects = Record("effect", log, keep)
        self.posts = Record("webhook", log, keep)
        self.world = World(int(token.partition(":")[0]), username, self._queue_update)
        self.methods = Methods(self.world, self.deliveries, self.effects)
        self._names = self.methods.names | {name.lower(): name for name in UPDATE_METHODS}
        self._pending: list[JsonObject] = []
        self._again: set[int] = set()
        self._echo: list[JsonObject] = []
        self._allowed: frozenset[str] | None = None
        self._changed = asyncio.Event()
        self._poll = 0
        self._webhook: JsonObject = {"url": ""}
        self._webhook_retry = webhook_retry
        self._worker: asyncio.Task[None] | None = None

    @property
    def base_url(self) -> str:
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        return f"{self.url}/file/bot"

    @property
    def pending(self) -> tuple[JsonObject, ...]:
        """Updates that the bot has not confirmed."""
        return tuple(self._pending)

    def texts(self, chat_id: int) -> list[str]:
        """Texts and captions delivered to a chat, in order of arrival."""
        return [str(one.body["text"]) for one in self.deliveries if one.body["chat_id"] == chat_id]

    # HTTP.

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/bot{token}/{method}", self._method)
        router.add_get("/file/bot{token}/{path:.*}", self._download)

    async def closing(self) -> None:
        self._poll += 1
        self._wake()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])

    def refusal(self, answer: Answer) -> web.Response:
        words = {
            400: "Bad Request: planned",
            401: "Unauthorized",
            403: "Forbidden: planned",
            409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            429: f"Too Many Requests: retry after {answer.retry_after}",
            502: "Bad Gateway",
        }
        parameters = {"retry_after": answer.retry_after} if answer.retry_after is not None else None
        description = answer.body or words.get(answer.status, "Internal Server Error")
        return _failed(ApiError(answer.status, description, parameters))

    async def _method(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        name = self._names.get(request.match_info["method"].lower())
        try:
            params = read_params(request, raw)
        except ApiError as error:
            return _failed(error)

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            try:
                if request.match_info["token"] != self.token:
                    raise ApiError(401, "Unauthorized")
                if name is None:
                    raise ApiError(404, "Not Found: method not found")
                if len(raw) > MAX_UPLOAD:
                    raise ApiError(413, "Request Entity Too Large")
                result = await self._call(name, params, faults)
            except ApiError as error:
                return _failed(error)
            return web.json_response({"ok": True, "result": result})

        return await self.serve(request, name or request.match_info["method"], params.plain(), raw, effect)

    async def _call(self, name: str, params: Params, faults: tuple[Fault, ...]) -> Any:
        if name == "getUpdates":
            twice = any(isinstance(fault, Twice) for fault in faults)
            return await self._get_updates(params, twice=twice)
        if name == "setWebhook":
            return self._set_webhook(params)
        if name == "deleteWebhook":
            return self._set_webhook(Params({"drop_pending_updates": params.text("drop_pending_updates")}))
        if name == "getWebhookInfo":
            return {**self._webhook, "has_custom_certificate": False, "pending_update_count": len(self._pending)}
        return self.methods.call(name, params)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            file = self.world.files.get(request.match_info["path"].removeprefix("documents/"))
            if request.match_info["token"] != self.token or file is None or file.size > MAX_DOWNLOAD:
                return _failed(ApiError(404, "Not Found"))
            return web.Response(body=file.data, content_type="application/octet-stream")

        return await self.serve(request, "file", {"path": request.match_info["path"]}, b"", effect)

    # Updates.

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _queue_update(self, update: JsonObject) -> None:
        kind = next(key for key in update if key != "update_id")
        wanted = kind in self._allowed if self._allowed is not None else kind not in NOT_BY_DEFAULT
        if wanted:
            self._pending.append(update)
            self._wake()

    def _allow(self, params: Params) -> None:
        """Remember the kinds of updates that are wanted; for updates that come later only."""
        kinds = params.structure("allowed_updates")
        if kinds is not None:
            self._allowed = frozenset(kinds) or None

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self._pending = self._pending[offset:]
            return
        done = [update for update in self._pending if update["update_id"] < offset]
        self._echo += [update for update in done if update["update_id"] in self._again]
        self._again -= {update["update_id"] for update in done}
        self._pending = [update for update in self._pending if update["update_id"] >= offset]

    async def _get_updates(self, params: Params, *, twice: bool) -> list[JsonObject]:
        """Confirm what is below `offset`, then answer what is pending, or wait `timeout` seconds for something."""
        if self._webhook["url"]:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active;"
                " use deleteWebhook to delete the webhook first",
            )
        self._allow(params)
        self._poll += 1
        mine = self._poll
        self._wake()
        self._confirm(params.integer("offset") or 0)
        limit = min(max(params.integer("limit") or 100, 1), 100)
        try:
            async with asyncio.timeout(params.integer("timeout") or 0):
                while not (self._pending or self._echo):
                    await self._changed.wait()
                    if mine != self._poll:
                        raise ApiError(
                            409,
                            "Conflict: terminated by other getUpdates request;"
                            " make sure that only one bot instance is running",
                        )
        except TimeoutError:
            return []
        echo, self._echo = self._echo, []
        given = [*echo, *self._pending][:limit]
        if twice:
            self._again |= {update["update_id"] for update in given}
        return given

    # Webhook.

    def _set_webhook(self, params: Params) -> bool:
        secret = params.text("secret_token")
        if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
            raise bad("secret token contains unallowed characters")
        url = params.text("url")
        if url and not re.match(r"https?://", url):
            raise bad("bad webhook: An HTTPS URL must be provided for webhook")
        self._allow(params)
        if params.flag("drop_pending_updates"):
            self._pending.clear()
        self._webhook = {"url": url, "max_connections": params.integer("max_connections") or 40}
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        if url:
            # The far end is not part of the daemon: its one task is held here and ends in `closing`.
            self._worker = asyncio.create_task(self._push(url, secret))  # noqa: TID251
        return True

    async def _push(self, url: str, secret: str) -> None:
        """Post pending updates in order; one that is not answered 2xx is tried again until it is."""
        headers = {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}
        async with aiohttp.ClientSession(headers=headers) as session:
            while True:
                while not self._pending:
                    await self._changed.wait()
                update = self._pending[0]
                faults = self.faults.take("webhook")
                await self.faults.hold(faults, "before")
                times = 2 if any(isinstance(fault, Twice) for fault in faults) else 1
                held_back = any(isinstance(fault, CutBefore) for fault in faults)
                accepted = False
                for _ in range(0 if held_back else times):
                    accepted = await self._post_update(session, url, update) or accepted
                if accepted and update in self._pending:
                    self._pending.remove(update)
                elif not accepted:
                    await asyncio.sleep(self._webhook_retry)

    async def _post_update(self, session: aiohttp.ClientSession, url: str, update: JsonObject) -> bool:
        try:
            async with session.post(url, json=update) as answer:
                status, problem = answer.status, f"Wrong response from the webhook: {answer.status}"
        except (aiohttp.ClientError, OSError) as error:
            status, problem = 0, f"Connection failed: {type(error).__name__}"
        self.posts.add("webhook", {"update_id": update["update_id"], "status": status})
        if 200 <= status < 300:
            return True
        self._webhook |= {"last_error_date": wall_seconds(), "last_error_message": problem}
        return False

    # Control.

    def add_control(self, router: web.UrlDispatcher) -> None:
        async def act(request: web.Request) -> web.Response:
            body = await json_body(request)
            name = request.match_info["name"]
            if name not in ACTS:
                raise web.HTTPNotFound(text=f"no act {name}")
            result = getattr(self.world, name)(**body)
            return web.json_response(result if isinstance(result, dict | list | int) else None)

        async def upload(request: web.Request) -> web.Response:
            query = request.query
            size = int(query["size"]) if "size" in query else None
            file_id = self.world.add_file(await request.read(), query["name"], query["mime"], size)
            return web.json_response({"file_id": file_id})

        async def pending(request: web.Request) -> web.Response:
            return web.json_response(self._pending)

        router.add_post("/_control/world/{name}", act)
        router.add_post("/_control/files", upload)
        router.add_get("/_control/pending", pending)
        router.add_get("/_control/deliveries", record_route(self.deliveries))
        router.add_get("/_control/effects", record_route(self.effects))
        router.add_get("/_control/webhook", record_route(self.posts))


ACTS = frozenset(
    {
        "add_user",
        "add_chat",
        "add_topic",
        "inject",
        "message",
        "private_message",
        "topic_message",
        "album",
        "anonymous_admin_message",
        "channel_post",
        "edited_message",
        "delete_message",
        "callback_query",
        "my_chat_member",
        "block",
        "migrate",
    }
)


def _failed(error: ApiError) -> web.Response:
    body: JsonObject = {"ok": False, "error_code": error.code, "description": error.description}
    if error.parameters:
        body["parameters"] = error.parameters
    return web.json_response(body, status=error.code)


async def main() -> None:
    parser = arguments("the Telegram Bot API")
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--username", default="exec_bot")
    options = parser.parse_args()
    server = FakeTelegram(
        token=options.token,
        username=options.username,
        port=options.port,
        log=options.log,
        keep=options.keep,
    )
    async with server:
        hello = {"kind": server.kind, "port": server.port, "url": server.url, "token": server.token}
        await serve_until_stopped(hello, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
