"""Operations as Starlette routes: who asks, what they ask as models, what they are answered as models, and every
refusal as one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import cache, partial

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.kernel.faults import in_words
from bot.kernel.values import dataclass
from bot.people.model import Person
from bot.web.api import openapi
from bot.web.api.auth import Denied, Door
from bot.web.api.model import Problem
from bot.web.hooks import BodyRefusedError, read_body
from bot.web.refusals import Refusal, answered

PREFIX = "/api"
LIMIT = 64 << 10
"""Bytes of a body."""
AGAIN_AFTER = 5
"""Seconds, when the store cannot be written."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Call:
    """What an operation is asked, by whom."""

    person: Person
    path: Mapping[str, str]
    query: BaseModel | None
    body: BaseModel | None


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    """Below `PREFIX`, like `/memories/{id}`."""
    name: str
    summary: str
    handle: Callable[[Call], Awaitable[BaseModel]]
    answer: type[BaseModel]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    accepted: Callable[[BaseModel], bool] = field(default=lambda _: False)
    """Whether the answer says that it waits for somebody (202)."""


def routes(operations: Sequence[Operation], door: Door, version: str, on_refused: Callable[[str], None]) -> list[Route]:
    """One route a path; what is under `/api` and is none of them is answered by the last one."""
    document = cache(partial(openapi.document, operations, version))  # some milliseconds, and most are never asked
    by_path: dict[str, dict[str, Operation]] = {}
    for each in operations:
        by_path.setdefault(each.path, {})[each.method] = each
    made = [
        Route(f"{PREFIX}{path}", _endpoint(methods, door, on_refused), methods=list(METHODS))
        for path, methods in by_path.items()
    ]
    described = Route(f"{PREFIX}/openapi.json", _described(document, door), methods=["GET"])
    unknown = Route(f"{PREFIX}/{{rest:path}}", _endpoint({}, door, on_refused), methods=list(METHODS))
    return [described, *made, unknown]


def _described(document: Callable[[], Mapping[str, object]], door: Door) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        person = await door.enter(request)
        return _denied(person) if isinstance(person, Denied) else JSONResponse(document())

    return endpoint


def _endpoint(
    methods: Mapping[str, Operation], door: Door, on_refused: Callable[[str], None]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        person = await door.enter(request)
        if isinstance(person, Denied):
            return _denied(person)
        operation = methods.get(request.method)
        try:
            if operation is None:
                return _no_such_method(methods)
            call = Call(person, request.path_params, _query(operation, request), await _body(operation, request))
            answer = await answered(operation.handle(call), f"api {operation.name}")
        except Refusal as refused:
            if refused.reason is not None:
                on_refused(f"api_{refused.reason}")
            return _problem(refused.status, refused.code, refused.message)
        status = 202 if operation.accepted(answer) else 200
        return Response(answer.model_dump_json(), status, media_type="application/json")

    return endpoint


def _query(operation: Operation, request: Request) -> BaseModel | None:
    given: dict[str, object] = {}
    several = set() if operation.query is None else _lists(operation.query)
    for name, value in request.query_params.multi_items():
        if name in several:
            given.setdefault(name, [])
            values = given[name]
            assert isinstance(values, list)  # noqa: S101 - for the type checker
            values.append(value)
        elif name in given:
            raise Refusal(422, "unclear", f"{name}: given twice")
        else:
            given[name] = value
    if operation.query is None:
        if given:
            raise Refusal(422, "unclear", f"{min(given)}: not known here")
        return None
    try:
        return operation.query.model_validate(given)
    except ValidationError as error:
        raise Refusal(422, "unclear", _faults(error)) from error


async def _body(operation: Operation, request: Request) -> BaseModel | None:
    try:
        raw = await read_body(request, LIMIT)
    except BodyRefusedError as refused:
        raise Refusal(refused.status, refused.reason, "The body cannot be taken.", refused.reason) from refused
    if operation.body is None:
        if raw:
            raise Refusal(422, "unclear", "No body is wanted here.")
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "not_json", "Content-Type: application/json is wanted.")
    try:
        return operation.body.model_validate_json(raw)
    except ValidationError as error:
        raise Refusal(422, "unclear", _faults(error)) from error


def _lists(model: type[BaseModel]) -> set[str]:
    return {name for name, each in model.model_fields.items() if str(each.annotation).startswith("tuple")}


def _faults(error: ValidationError) -> str:
    return in_words(error.errors(include_url=False, include_input=False))


def _no_such_method(methods: Mapping[str, Operation]) -> Response:
    if not methods:
        return _problem(404, "not_found", "There is no such path.")
    response = _problem(405, "no_such_method", "Not with this method.")
    response.headers["Allow"] = ", ".join(sorted(methods))
    return response


def _denied(denied: Denied) -> Response:
    response = _problem(denied.status, "not_let_in", denied.message)
    if denied.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if denied.retry_after is not None:
        response.headers["Retry-After"] = str(denied.retry_after)
    return response


def _problem(status: int, code: str, message: str) -> Response:
    content = json.dumps(Problem(code=code, message=message).model_dump())  # ASCII: whatever stands in it can be sent
    headers = {"Retry-After": str(AGAIN_AFTER)} if status == 503 else None
    return Response(content, status, headers=headers, media_type="application/json")
