from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest

from bot.gateway.channel import HttpRequest, HttpResponse, HttpRoute
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.supervise import cancel, start
from bot.web import hooks, patient
from bot.web.guard import HEADERS
from bot.web.server import Server

DETAILS = {"status": "ok", "version": "1.2.3", "channels": {"email": {"receiving": False, "reason": "port taken"}}}


async def healthy() -> Mapping[str, object]:
    return DETAILS


@dataclass(slots=True)
class Site:
    url: str
    port: int
    refused: list[str]
    client: aiohttp.ClientSession

    async def status(self, path: str, method: str = "GET", **more: object) -> int:
        async with self.client.request(method, self.url + path, **more) as response:  # type: ignore[arg-type]
            return response.status

    async def raw(self, request: bytes) -> bytes:
        """Everything the server answers to these bytes until it hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()


@asynccontextmanager
async def site(
    routes: Sequence[HttpRoute] = (),
    status: Callable[[], Awaitable[Mapping[str, object]]] = healthy,
    allowed: Sequence[str] = (),
) -> AsyncIterator[Site]:
    refused: list[str] = []
    server = Server("127.0.0.1", 0, allowed, status, routes, refused.append)
    server.listen()
    running = start("web", server.run())
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as client:
        try:
            yield Site(f"http://127.0.0.1:{server.port}", server.port, refused, client)
        finally:
            await client.close()
            await cancel(running)
            server.close()


def hook(
    handle: Callable[[HttpRequest], Awaitable[HttpResponse]], method: str = "POST", limit: int = 1000
) -> HttpRoute:
    return HttpRoute(method, "/telegram/hook", handle, limit)


async def echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse(200, request.body, "application/octet-stream")


# --- probes ----------------------------------------------------------------------------------------------------------


async def test_live_says_ok_and_nothing_else() -> None:
    async with site() as s, s.client.get(s.url + "/live") as response:
        assert (response.status, await response.text()) == (200, "ok\n")


async def test_health_tells_this_machine_the_details() -> None:
    async with site() as s, s.client.get(s.url + "/health") as response:
        assert await response.json() == DETAILS


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"Via": "1.1 proxy"},
        {"X-Real-IP": "203.0.113.9"},
        {"Host": "exec.example.org"},
    ],
)
async def test_health_tells_others_no_details_even_through_a_proxy_on_this_machine(headers: dict[str, str]) -> None:
    async with site(allowed=["exec.example.org"]) as s, s.client.get(s.url + "/health", headers=headers) as response:
        assert await response.json() == {"status": "ok"}


@pytest.mark.parametrize("failure", [ValueError("inside"), TransientError("inside"), PermanentError("inside")])
async def test_health_that_cannot_be_told_is_degraded_and_shows_nothing(failure: Exception) -> None:
    async def broken() -> Mapping[str, object]:
        raise failure

    async with site(status=broken) as s, s.client.get(s.url + "/health") as response:
        assert (response.status, await response.json()) == (503, {"status": "degraded"})


# --- who may ask -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/live", "/health", "/telegram/hook", "/nowhere"])
async def test_dns_rebinding_is_refused_on_every_route(path: str) -> None:
    async with site([hook(echo)]) as s:
        method = "POST" if "hook" in path else "GET"
        assert await s.status(path, method, headers={"Host": "evil.example"}) == 421
        assert await s.status(path, method, headers={"Origin": "https://evil.example"}) == 403
        assert await s.status(path, method, headers={"Origin": "null"}) == 403
        assert s.refused == ["bad_host", "bad_origin", "bad_origin"]


async def test_own_names_and_pages_are_let_in() -> None:
    async with site(allowed=["exec.example.org"]) as s:
        assert await s.status("/live", headers={"Host": f"localhost:{s.port}"}) == 200
        assert await s.status("/live", headers={"Host": "exec.example.org"}) == 200
        assert await s.status("/live", headers={"Origin": f"http://localhost:{s.port}"}) == 200
        assert s.refused == []


@pytest.mark.parametrize(
    "lines",
    [
        b"GET /live HTTP/1.0\r\n\r\n",
        b"GET /live HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /live HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"GET /live HTTP/1.1\r\nConnection: close\r\n\r\n",
    ],
)
async def test_no_host_or_two_are_refused(lines: bytes) -> None:
    async with site() as s:
        status = (await s.raw(lines)).split(b" ", 2)[1]
        assert status in (b"421", b"400")


async def test_every_answer_carries_the_security_headers() -> None:
    async with site([hook(echo)]) as s:
        for path, headers in [("/live", {}), ("/nowhere", {}), ("/telegram/hook", {}), ("/live", {"Host": "evil"})]:
            async with s.client.get(s.url + path, headers=headers) as response:
                assert {name: response.headers[name] for name in HEADERS} == HEADERS
                assert "Server" not in response.headers


async def test_what_is_not_there_is_plainly_not_there() -> None:
    async with site() as s, s.client.get(s.url + "/nowhere") as response:
        assert (response.status, response.content_type) == (404, "text/plain")


# --- routes of channels ----------------------------------------------------------------------------------------------


async def test_a_channel_gets_the_request_and_its_answer_goes_back() -> None:
    asked: list[HttpRequest] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        asked.append(request)
        return HttpResponse(202, b"{}", "application/json")

    more = {"X-Secret": "s"}
    async with (
        site([hook(handle)]) as s,
        s.client.post(s.url + "/telegram/hook?x=1", data=b"update", headers=more) as response,
    ):
        assert (response.status, await response.read()) == (202, b"{}")
        assert response.headers["Content-Type"] == "application/json"
    (request,) = asked
    assert (request.method, request.path, request.body) == ("POST", "/telegram/hook", b"update")
    assert request.headers["x-secret"] == "s"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_only_the_routes_own_method_is_served(method: str) -> None:
    async with site([hook(echo)]) as s:
        assert await s.status("/telegram/hook", method) == 405


@pytest.mark.parametrize("path", ["/telegram/hook/", "/telegram//hook", "/TELEGRAM/hook"])
async def test_only_the_exact_path_is_served(path: str) -> None:
    async with site([hook(echo)]) as s:
        assert await s.status(path, "POST", allow_redirects=False) == 404


@pytest.mark.parametrize(("size", "status"), [(1000, 200), (1001, 413), (200_000, 413)])
async def test_a_body_over_the_limit_is_refused(size: int, status: int) -> None:
    async with site([hook(echo)]) as s:
        assert await s.status("/telegram/hook", "POST", data=b"x" * size) == status
        assert s.refused == (["body_too_large"] if status == 413 else [])


async def test_a_body_without_declared_length_is_measured_while_it_is_read() -> None:
    called: list[bool] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        called.append(True)
        return HttpResponse(200)

    chunk = b"%x\r\n%s\r\n" % (400, b"x" * 400)
    async with site([hook(handle)]) as s:
        head = b"POST /telegram/hook HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = await s.raw(head + chunk * 3)  # never ends: the limit must be noticed before the end
        assert answer.startswith(b"HTTP/1.1 413")
    assert called == []


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "BODY_WITHIN", 0.05)
    async with site([hook(echo)]) as s:
        answer = await s.raw(b"POST /telegram/hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
        assert answer.startswith(b"HTTP/1.1 408")
        assert s.refused == ["body_too_slow"]


async def test_a_cut_body_is_never_handed_over(caplog: pytest.LogCaptureFixture) -> None:
    called: list[bool] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        called.append(True)
        return HttpResponse(200)

    async with site([hook(handle)]) as s:
        _, writer = await asyncio.open_connection("127.0.0.1", s.port)
        writer.write(b"POST /telegram/hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        async with asyncio.timeout(10):
            while s.refused != ["body_cut_off"]:
                assert await s.status("/live") == 200
    assert called == []
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("failure", "status"),
    [(TransientError("inside"), 503), (PermanentError("inside"), 400), (ValueError("inside"), 500)],
)
async def test_a_failing_channel_shows_nothing_of_its_inside(failure: Exception, status: int) -> None:
    async def handle(request: HttpRequest) -> HttpResponse:
        raise failure

    async with site([hook(handle)]) as s, s.client.post(s.url + "/telegram/hook", data=b"x") as response:
        assert response.status == status
        assert b"inside" not in await response.read()
        assert ("Retry-After" in response.headers) is (status == 503)


async def test_an_unproven_call_of_a_hook_is_counted() -> None:
    async def handle(request: HttpRequest) -> HttpResponse:
        return HttpResponse(401)

    async with site([hook(handle)]) as s:
        assert await s.status("/telegram/hook", "POST") == 401
        assert s.refused == ["webhook_unauthenticated"]


# --- the server ------------------------------------------------------------------------------------------------------


async def test_signals_stay_the_daemons_and_requests_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    async with site() as s:
        assert await s.status("/live?token=secret") == 200
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
    assert not [record for record in caplog.records if record.name.startswith("uvicorn") and "live" in str(record.args)]


async def test_a_stop_lets_requests_in_work_end() -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: HttpRequest) -> HttpResponse:
        entered.set()
        await go_on.wait()
        return HttpResponse(200, b"done")

    server = Server("127.0.0.1", 0, (), healthy, [hook(slow)], lambda _: None)
    server.listen()
    running = start("web", server.run())
    async with aiohttp.ClientSession() as client:
        url = f"http://127.0.0.1:{server.port}/telegram/hook"

        async def ask() -> bytes:
            async with client.post(url, data=b"x") as response:
                return await response.read()

        asking = start("ask", ask())
        await entered.wait()
        stopping = start("stop", cancel(running))
        await asyncio.sleep(0)
        go_on.set()
        assert await asking == b"done"
        await stopping
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_stop_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.web.server.STOP_WITHIN", 0)

    async def stuck(request: HttpRequest) -> HttpResponse:
        await asyncio.Event().wait()
        return HttpResponse(200)

    async with site([hook(stuck)]) as s:
        _, writer = await asyncio.open_connection("127.0.0.1", s.port)
        writer.write(b"POST /telegram/hook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        assert await s.status("/live") == 200
    writer.close()


def test_a_taken_port_is_named_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PermanentError, match=f"port {port} .*OPENEXECUTIVE_WEB__PORT"):
            Server("127.0.0.1", port, (), healthy, (), lambda _: None).listen()


def test_port_0_picks_one_that_is_known_at_once() -> None:
    server = Server("127.0.0.1", 0, (), healthy, (), lambda _: None)
    server.listen()
    assert server.port > 0
    server.close()


@pytest.mark.parametrize("host", ["localhost", "::1"])
async def test_other_names_of_loopback_can_be_listened_on(host: str) -> None:
    server = Server(host, 0, (), healthy, (), lambda _: None)
    server.listen()
    running = start("web", server.run())
    async with aiohttp.ClientSession() as client:
        url_host = f"[{host}]" if ":" in host else host
        async with client.get(f"http://{url_host}:{server.port}/health") as response:
            assert await response.json() == DETAILS
    await cancel(running)


# --- connections that only stand there --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "beginning", [b"", b"GET /live HTTP/1.1\r\nHost: loc", b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\nGET /li"]
)
async def test_a_head_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, beginning: bytes) -> None:
    monkeypatch.setattr(patient, "HEAD_WITHIN", 0.2)
    async with site() as s:
        answer = await s.raw(beginning)  # returns: the server hangs up
        assert answer.startswith(b"HTTP/1.1 200") == beginning.endswith(b"GET /li")


async def test_a_head_in_time_may_be_answered_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient, "HEAD_WITHIN", 0.05)

    async def slow(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0.3)
        return HttpResponse(200)

    async with site([hook(slow)]) as s:
        assert await s.status("/telegram/hook", "POST") == 200


async def test_those_who_stand_there_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient, "MOST", 5)
    async with site() as s:
        held = [await asyncio.open_connection("127.0.0.1", s.port) for _ in range(5)]
        async with asyncio.timeout(10):
            assert await s.raw(b"") == b""  # the sixth is hung up on at once
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        assert b"ok" in await s.raw(b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")


async def test_broken_requests_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with site() as s:
        with caplog.at_level(logging.INFO):
            for request in (b"\x00\xff\r\n\r\n", b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n"):
                assert b"400" in await s.raw(request)
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []
