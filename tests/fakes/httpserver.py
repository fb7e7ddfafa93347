"""What the HTTP fakes share: life cycle, recording, faults, the control endpoint and the command line.

A fake names its endpoints, applies effects and words errors as its platform does; this module does the rest in the
order of a real far end: request received, held, cut or refused, effect, held, cut, response.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from aiohttp import web

from tests.fakes.faults import ANY, FAULTS, Answer, CutAfter, CutBefore, Fault, FaultPlan, JsonObject, Record

Writer = Callable[[web.Request], Awaitable[web.StreamResponse]]
Outcome = web.Response | Writer


class HttpFake:
    """An HTTP server on loopback. Use it as an async context manager; `url` is its base address."""

    kind: ClassVar[str]
    cancel_on_disconnect: ClassVar[bool] = False
    max_body: ClassVar[int] = 64 * 1024 * 1024

    def __init__(self, *, port: int = 0, log: Path | None = None, keep: int | None = None) -> None:
        self.port = port
        self.faults = FaultPlan()
        self.requests = Record("request", log, keep)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # What a fake fills in.

    def add_routes(self, router: web.UrlDispatcher) -> None:
        raise NotImplementedError

    def refusal(self, answer: Answer) -> web.Response:
        """The response with which the platform says `answer`."""
        raise NotImplementedError

    def add_control(self, router: web.UrlDispatcher) -> None:
        """Routes under /_control of this fake alone."""

    async def closing(self) -> None:
        """Let go of what waits, before the server stops."""

    # Life cycle.

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=self.max_body)
        self.add_routes(app.router)
        add_common_control(self.faults, self.requests, app.router)
        self.add_control(app.router)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.2, handler_cancellation=self.cancel_on_disconnect
        )
        await self._runner.setup()
        await self.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.faults.clear()
        await self.closing()
        if self._runner is not None:
            await self._runner.cleanup()

    async def up(self) -> None:
        """Listen (again, on the same port)."""
        if self._runner is None or self._site is not None:
            return
        self._site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await self._site.start()
        self.port = self._runner.addresses[0][1]

    async def down(self) -> None:
        """Refuse new connections until `up`; those that exist go on."""
        if self._site is not None:
            await self._site.stop()
            self._site = None

    # One call.

    async def serve(
        self,
        request: web.Request,
        endpoint: str,
        body: JsonObject,
        raw: bytes,
        effect: Callable[[tuple[Fault, ...]], Awaitable[Outcome]],
    ) -> web.StreamResponse:
        """Record the call, meet its faults and let `effect` act and answer."""
        if self.faults.dark:
            return cut(request)
        self.requests.add(endpoint, body, raw, dict(request.headers))
        faults = self.faults.take(endpoint)
        await self.faults.hold(faults, "before")
        if any(isinstance(fault, CutBefore) for fault in faults):
            return cut(request)
        for fault in faults:
            if isinstance(fault, Answer):
                return self.refusal(fault)
        outcome = await effect(faults)
        await self.faults.hold(faults, "after")
        if any(isinstance(fault, CutAfter) for fault in faults):
            return cut(request)
        return outcome if isinstance(outcome, web.Response) else await outcome(request)


def cut(request: web.Request) -> web.Response:
    """Reset the client's connection at once; the response returned goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


async def json_body(request: web.Request) -> JsonObject:
    value = await request.json()
    if not isinstance(value, dict):
        raise web.HTTPBadRequest(text="a JSON object is wanted")
    return value


def record_route(record: Record) -> Callable[[web.Request], Awaitable[web.Response]]:
    """GET handler: the entries of `endpoint`, once `at_least` are there; 408 after `timeout` seconds."""

    async def handle(request: web.Request) -> web.Response:
        query = request.query
        endpoint = query.get("endpoint", ANY)
        try:
            entries = await record.wait(int(query.get("at_least", "0")), endpoint, float(query.get("timeout", "10")))
        except TimeoutError:
            text = f"{record.count(endpoint)} so far"
            raise web.HTTPRequestTimeout(text=text) from None
        return web.json_response([entry.to_json() for entry in entries])

    return handle


def add_common_control(plan_of: FaultPlan, requests: Record, router: web.UrlDispatcher) -> None:
    """Routes that plan and clear faults, handle gates and show the requests."""

    async def plan(request: web.Request) -> web.Response:
        body = await json_body(request)
        faults = FAULTS.validate_python(body["faults"])
        plan_of.plan(body["endpoint"], *faults, times=body.get("times", 1))
        return web.json_response({})

    async def clear(request: web.Request) -> web.Response:
        plan_of.clear()
        return web.json_response({})

    async def dark(request: web.Request) -> web.Response:
        plan_of.dark = bool((await json_body(request))["dark"])
        return web.json_response({})

    async def release(request: web.Request) -> web.Response:
        plan_of.gate(request.match_info["gate"]).release()
        return web.json_response({})

    async def reached(request: web.Request) -> web.Response:
        gate = plan_of.gate(request.match_info["gate"])
        try:
            async with asyncio.timeout(float(request.query.get("timeout", "10"))):
                await gate.reached.wait()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text="nobody waits there") from None
        return web.json_response({})

    router.add_post("/_control/faults", plan)
    router.add_delete("/_control/faults", clear)
    router.add_post("/_control/dark", dark)
    router.add_post("/_control/gates/{gate}/release", release)
    router.add_get("/_control/gates/{gate}/reached", reached)
    router.add_get("/_control/requests", record_route(requests))


# Standalone.


def arguments(kind: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=f"A stand-in for {kind}, with a control endpoint at /_control/.")
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--log", type=Path, default=None, help="append what happens to this file, a line of JSON each")
    parser.add_argument("--keep", type=int, default=None, help="remember only this many requests")
    parser.add_argument("--exit-with-stdin", action="store_true", help="stop when standard input ends")
    return parser


async def serve_until_stopped(hello: JsonObject, exit_with_stdin: bool) -> None:
    """Say `hello` on standard output, then wait for SIGTERM, SIGINT or (if asked) the end of standard input."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if exit_with_stdin:

        def readable() -> None:
            if not os.read(sys.stdin.fileno(), 4096):
                loop.remove_reader(sys.stdin.fileno())
                stop.set()

        loop.add_reader(sys.stdin.fileno(), readable)
    print(json.dumps(hello), flush=True)
    await stop.wait()
