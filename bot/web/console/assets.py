"""The files of the pages: stylesheet, scripts, pictures. Named by their content, so browsers keep them for ever."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.web.console.templating import STATIC, static

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "txt": "text/plain; charset=utf-8",
}


def routes() -> list[Route]:
    names = {each.name for each in STATIC.iterdir() if each.name.rpartition(".")[2] in TYPES}

    async def one(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in names:
            return PlainTextResponse("There is no such file.\n", 404)
        kept = request.url.path == static(name)
        headers = {"Cache-Control": "public, max-age=31536000, immutable" if kept else "no-cache"}
        return Response((STATIC / name).read_bytes(), 200, headers, TYPES[name.rpartition(".")[2]])

    return [Route("/static/{version}/{name}", one, methods=["GET"])]
