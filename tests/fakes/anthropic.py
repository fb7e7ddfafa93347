"""The Anthropic Messages API over HTTP: messages (streamed or not), count_tokens, models.

A scripted model answers: a callable from the request to a `Reply`, by default an instant echo; replies that are put
in a queue go first. Requests that the real API would refuse are answered with its 400. Endpoints for faults and
records: `messages`, `count_tokens`, `models`. Source: the public API reference.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from aiohttp import web

from tests.fakes import anthropic_rules as rules
from tests.fakes.anthropic_reply import (
    ERROR_TYPE,
    HTTP_STATUS,
    REPLIES,
    CutStream,
    EndEarly,
    ErrorInStream,
    ErrorStatus,
    Event,
    Reply,
    Usage,
    error_body,
    events,
    message,
)
from tests.fakes.anthropic_script import ModelRequest, Script, instant_echo, nothing_to_remember, script_named
from tests.fakes.faults import Answer, Delay, Fault, JsonObject, Record
from tests.fakes.httpserver import (
    HttpFake,
    Outcome,
    arguments,
    cut,
    json_body,
    record_route,
    serve_until_stopped,
)

MODELS = (
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-opus-4-8",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
)


class FakeAnthropic(HttpFake):
    """The API with a scripted model. `requests` holds what came in, `answers` what was fully delivered. Requests that
    force the call of a tool are of a kind of their own (`readings`), and `reader` answers them.

    An entry of `answers` has the body {"reply_text", "outcome"}, where outcome is `complete`, `faulty` (as scripted)
    or `client_gone`. Error statuses are not answers.
    """

    kind: ClassVar[str] = "anthropic"
    cancel_on_disconnect: ClassVar[bool] = True

    def __init__(
        self,
        script: Script = instant_echo,
        *,
        api_keys: frozenset[str] | None = None,
        models: tuple[str, ...] | None = None,
        port: int = 0,
        log: Path | None = None,
        keep: int | None = None,
    ) -> None:
        """`api_keys` and `models` None: any key that is not empty, any model."""
        super().__init__(port=port, log=log, keep=keep)
        self.script = script
        self.reader: Script = nothing_to_remember
        self.answers = Record("answer", log, keep)
        self._queue: deque[Reply] = deque()
        self._api_keys = api_keys
        self._models = models
        self._ids = itertools.count(1)
        self._cached: set[str] = set()

    def reply_with(self, *replies: Reply) -> None:
        """Queue replies for the next requests; when they are used up, the script answers again."""
        self._queue.extend(replies)

    @property
    def model_requests(self) -> tuple[ModelRequest, ...]:
        """Every /v1/messages request so far, in order, refused ones too."""
        return tuple(ModelRequest(entry.body) for entry in self.requests.of("messages"))

    @property
    def readings(self) -> tuple[ModelRequest, ...]:
        """Every request so far that forces the call of a tool."""
        return tuple(ModelRequest(entry.body) for entry in self.requests.of("readings"))

    # HTTP.

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/messages", self._messages)
        router.add_post("/v1/messages/count_tokens", self._count_tokens)
        router.add_get("/v1/models", self._list_models)
        router.add_get("/v1/models/{model}", self._get_model)

    def add_control(self, router: web.UrlDispatcher) -> None:
        async def set_script(request: web.Request) -> web.Response:
            self.script = script_named((await json_body(request))["name"])
            return web.json_response({})

        async def queue(request: web.Request) -> web.Response:
            self.reply_with(*REPLIES.validate_python((await json_body(request))["replies"]))
            return web.json_response({})

        router.add_post("/_control/script", set_script)
        router.add_post("/_control/replies", queue)
        router.add_get("/_control/answers", record_route(self.answers))

    def refusal(self, answer: Answer) -> web.Response:
        return self._error(ErrorStatus(answer.status, None, answer.body or "planned", answer.retry_after))

    def _error(self, error: ErrorStatus) -> web.Response:
        kind = error.error or ERROR_TYPE.get(error.status, "api_error")
        headers = {"request-id": self._request_id()}
        if error.retry_after is not None:
            headers["retry-after"] = str(error.retry_after)
        body = error_body(kind, error.message, headers["request-id"])
        return web.json_response(body, status=error.status, headers=headers)

    def _request_id(self) -> str:
        return f"req_fake{next(self._ids):06d}"

    async def _body(self, request: web.Request) -> tuple[bytes, JsonObject]:
        raw = await request.read()
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        return raw, body if isinstance(body, dict) else {}

    def _admit(self, request: web.Request, raw: bytes, body: JsonObject, *, counting: bool = False) -> None:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if not key or (self._api_keys is not None and key not in self._api_keys):
            raise rules.Refused("invalid x-api-key", "authentication_error")
        if not request.headers.get("anthropic-version"):
            raise rules.Refused("anthropic-version: header is required")
        if len(raw) > rules.MAX_REQUEST_BYTES:
            raise rules.Refused("Request exceeds the maximum size", "request_too_large")
        if request.method == "POST":
            rules.check(body, counting=counting)
            self._known(str(body["model"]))

    def _known(self, model: str) -> None:
        if self._models is not None and model not in self._models:
            raise rules.Refused(f"model: {model}", "not_found_error")

    def _refused(self, refused: rules.Refused) -> web.Response:
        return self._error(ErrorStatus(HTTP_STATUS[refused.kind], refused.kind, refused.message))

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        raw, body = await self._body(request)

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            try:
                self._admit(request, raw, body)
            except rules.Refused as refused:
                return self._refused(refused)
            asked = ModelRequest(body)
            if asked.forced is not None:
                reply = self.reader(asked)
            else:
                reply = self._queue.popleft() if self._queue else self.script(asked)
            if reply.gate or reply.delay:
                await self.faults.wait(Delay(reply.delay, reply.gate))
            if reply.error is not None:
                return self._error(reply.error)
            usage = self._usage(asked, reply)
            message_id = f"msg_fake{next(self._ids):06d}"
            if asked.stream:
                return lambda request: self._stream(request, asked, reply, message_id, usage)
            return lambda request: self._whole(request, asked, reply, message_id, usage)

        kind = "messages" if ModelRequest(body).forced is None else "readings"
        return await self.serve(request, kind, body, raw, effect)

    async def _whole(
        self, request: web.Request, asked: ModelRequest, reply: Reply, message_id: str, usage: Usage
    ) -> web.StreamResponse:
        if isinstance(reply.fault, ErrorInStream):
            kind = reply.fault.error
            return self._error(ErrorStatus(HTTP_STATUS.get(kind, 500), kind, reply.fault.message))
        if isinstance(reply.fault, CutStream | EndEarly):
            return cut(request)
        self._answered(reply, "complete")
        body = message(reply, message_id, asked.model, usage)
        return web.json_response(body, headers={"request-id": self._request_id()})

    async def _stream(
        self, request: web.Request, asked: ModelRequest, reply: Reply, message_id: str, usage: Usage
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream; charset=utf-8",
                "Cache-Control": "no-cache",
                "request-id": self._request_id(),
            }
        )
        try:
            await response.prepare(request)
            outcome = await self._write(request, response, reply, events(reply, message_id, asked.model, usage))
            if outcome != "cut":
                await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self._answered(reply, "client_gone")
            raise
        self._answered(reply, "complete" if outcome == "complete" else "faulty")
        return response

    async def _write(
        self, request: web.Request, response: web.StreamResponse, reply: Reply, stream: Iterable[Event]
    ) -> str:
        """Write `stream` as `reply` wants it disturbed: `complete`, `early`, or `cut` with the connection gone."""
        fault, deltas = reply.fault, 0
        paced = bool(reply.pace or reply.gates)
        waiting: list[bytes] = []

        async def flush() -> None:
            if waiting:
                await response.write(b"".join(waiting))
                waiting.clear()

        for event in stream:
            last = event.name == "message_stop"
            if fault is not None and (last or (event.is_delta and deltas == fault.after)):
                await flush()
                return await self._disturb(request, response, fault)
            if event.is_delta:
                if deltas in reply.gates:
                    await flush()
                    await self.faults.gate(reply.gates[deltas]).pass_through()
                if reply.pace and deltas:
                    await flush()
                    await asyncio.sleep(reply.pace)
                deltas += 1
            waiting.append(event.encode())
            if paced and event.is_delta:
                await flush()
        await flush()
        return "complete"

    async def _disturb(
        self, request: web.Request, response: web.StreamResponse, fault: ErrorInStream | CutStream | EndEarly
    ) -> str:
        if isinstance(fault, ErrorInStream):
            await response.write(Event("error", error_body(fault.error, fault.message)).encode())
            return "early"
        if isinstance(fault, EndEarly):
            return "early"
        cut(request)
        return "cut"

    def _answered(self, reply: Reply, outcome: str) -> None:
        text = "".join(block.text for block in reply.blocks if block.type == "text")
        self.answers.add("messages", {"reply_text": text, "outcome": outcome})

    # Tokens and models.

    def _usage(self, asked: ModelRequest, reply: Reply) -> Usage:
        """Counts as with a prompt cache: the longest known prefix is read, the rest up to the last mark written."""
        if reply.usage is not None:
            return reply.usage
        marks = rules.prefix_marks(asked.body)
        whole = max(self._input_tokens(asked.body), marks[-1][1] if marks else 0)
        read = max((tokens for digest, tokens in marks if digest in self._cached), default=0)
        written = max(marks[-1][1] - read, 0) if marks else 0
        self._cached |= {digest for digest, _ in marks}
        output = rules.estimate(message(reply, "", "", Usage())["content"])
        return Usage(whole - read - written, output, read, written)

    def _input_tokens(self, body: JsonObject) -> int:
        return rules.estimate([body.get("tools"), body.get("system"), body["messages"]])

    async def _count_tokens(self, request: web.Request) -> web.StreamResponse:
        raw, body = await self._body(request)

        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            try:
                self._admit(request, raw, body, counting=True)
            except rules.Refused as refused:
                return self._refused(refused)
            return web.json_response({"input_tokens": self._input_tokens(body)})

        return await self.serve(request, "count_tokens", body, raw, effect)

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        names = self._models or MODELS
        return await self._model_page(request, {"data": [_model(name) for name in names], "has_more": False}, None)

    async def _get_model(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["model"]
        return await self._model_page(request, _model(name), name)

    async def _model_page(self, request: web.Request, shown: JsonObject, name: str | None) -> web.StreamResponse:
        async def effect(faults: tuple[Fault, ...]) -> Outcome:
            try:
                self._admit(request, b"", {})
                if name is not None:
                    self._known(name)
            except rules.Refused as refused:
                return self._refused(refused)
            return web.json_response(shown)

        return await self.serve(request, "models", {"model": name}, b"", effect)


def _model(name: str) -> JsonObject:
    return {
        "type": "model",
        "id": name,
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
    }


async def main() -> None:
    parser = arguments("the Anthropic Messages API")
    parser.add_argument("--script", default="instant echo", help="instant echo, recite history or numbered")
    options = parser.parse_args()
    server = FakeAnthropic(script_named(options.script), port=options.port, log=options.log, keep=options.keep)
    async with server:
        hello = {"kind": server.kind, "port": server.port, "url": server.url}
        await serve_until_stopped(hello, options.exit_with_stdin)


if __name__ == "__main__":
    asyncio.run(main())
