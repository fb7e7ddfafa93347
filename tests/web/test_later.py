from __future__ import annotations

from collections.abc import Sequence

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, NoMatchFound, Route
from starlette.testclient import TestClient

from bot.web.later import Later


async def named(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.url.path} {request.path_params['name']}")


def test_routes_are_made_with_the_first_request_for_one_of_them() -> None:
    made: list[str] = []

    def make() -> Sequence[BaseRoute]:
        made.append("made")
        return [Route("/api/things/{name}", named, methods=["GET"])]

    async def rest(request: Request) -> PlainTextResponse:
        return PlainTextResponse("elsewhere")

    client = TestClient(Starlette(routes=[Later("/api/", make), Route("/{path:path}", rest)]))
    assert client.get("/apis").text == "elsewhere"
    assert made == []
    assert client.get("/api/things/one").text == "/api/things/one one"
    assert client.get("/api/things/two").text == "/api/things/two two"
    assert made == ["made"]
    assert client.get("/api/nothing").status_code == 404
    assert client.post("/api/things/one").status_code == 405


def test_what_is_not_loaded_has_no_names() -> None:
    with pytest.raises(NoMatchFound):
        Later("/api/", list).url_path_for("things")
