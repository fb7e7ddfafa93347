"""The API as it is described, and as it stands up to whatever is sent."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.api.site import Site

METHODS = ("GET", "POST", "PATCH", "DELETE")


async def _document(site: Site) -> dict[str, Any]:
    answer = await site.ask("GET", "/api/openapi.json")
    assert answer.status == 200
    assert isinstance(answer.body, dict)
    return answer.body


def _nodes(of: object) -> Iterator[dict[str, Any]]:
    if isinstance(of, dict):
        yield of
    for each in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from _nodes(each)


async def test_the_document_is_whole(site: Site) -> None:
    document = await _document(site)
    assert document["openapi"].startswith("3.1.")
    schemas = document["components"]["schemas"]
    refs = {node["$ref"] for node in _nodes(document) if "$ref" in node}
    assert refs
    assert {ref.removeprefix("#/components/schemas/") for ref in refs} <= schemas.keys()
    names = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(names) == len(set(names))
    for path, operations in document["paths"].items():
        for each in operations.values():
            told = {one["name"] for one in each.get("parameters", []) if one["in"] == "path"}
            assert told == set(re.findall(r"\{(\w+)\}", path))
            assert {"200", "401", "404", "429"} <= each["responses"].keys()


async def test_what_is_described_is_there_and_nothing_else(site: Site) -> None:
    document = await _document(site)
    for path, operations in document["paths"].items():
        for method in METHODS:
            answer = await site.ask(method, path.replace("{id}", "nothing"))
            assert (answer.status == 405) == (method.lower() not in operations), (method, path)


async def test_an_answer_has_the_fields_that_are_described(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    schemas = (await _document(site))["components"]["schemas"]
    one = (await site.ask("GET", f"/api/memories/{said.id}")).body
    assert one.keys() == schemas["MemoryDetail"]["properties"].keys()
    assert one["memory"].keys() == schemas["Memory"]["properties"].keys()
    assert one["evidence"][0].keys() == schemas["Quote"]["properties"].keys()


VALUES: tuple[object, ...] = (
    None, True, 0, -1, 2**70, 1.5, "", " ", "x", "\x00", "\u202e", "😀" * 50, "%", "_", "'; DROP TABLE claim --", [],
    {},
    "2026-01-01", "2026-13-45T99:99:99Z", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59-12:00", "active", "erased",
    ["active"], {"a": [None]},
)  # fmt: skip
FIELDS = ("reason", "version", "statement", "work", "owner", "due", "status", "trust", "id", "")
NAMES = ("kind", "status", "q", "since", "until", "as_of", "known", "limit", "before", "speaker", "owner", "asked", "x")
TYPES = ("application/json", "text/plain", "application/json; charset=utf-16", "", "multipart/form-data")


@pytest.mark.parametrize(("seed", "by"), [(1, "ada"), (2, "ada"), (3, "boss"), (4, "boss")])
async def test_whatever_is_sent_is_answered_in_json_and_breaks_nothing(site: Site, seed: int, by: str) -> None:
    chance = random.Random(seed)
    said = await site.desk.said(await site.desk.alone("boss"), "boss")
    paths = list((await _document(site))["paths"])
    for _ in range(120):
        method = chance.choice((*METHODS, "PUT", "OPTIONS"))
        which = chance.choice((said.id, "nothing", "%00", "..%2f..", "é", "a" * 3_000))
        path = chance.choice((*paths, "/api/", "/api//x")).replace("{id}", which)
        query = {
            chance.choice(NAMES): str(chance.choice(VALUES)).replace("\x00", "%00") for _ in range(chance.randrange(4))
        }
        body = {chance.choice(FIELDS): chance.choice(VALUES) for _ in range(chance.randrange(5))}
        raw = json.dumps(body).encode()
        if chance.random() < 0.3:
            raw = chance.choice(
                (b"", b"[" * 5_000, b"\xff\xfe", b'"\\ud800"', b'{"reason": "\\ud800", "version": 1}', b"NaN")
            )
        headers = {"Content-Type": chance.choice(TYPES)} if chance.random() < 0.5 else {"Content-Type": TYPES[0]}
        data = raw if method != "GET" or chance.random() < 0.1 else None
        answer = await site.ask(method, path, by=by, params=query, data=data, headers=headers)
        assert answer.status in (200, 202, 400, 403, 404, 405, 409, 413, 415, 422), (method, path, query, raw)
        assert answer.headers["Content-Type"] == "application/json"
        if answer.status >= 400:
            assert set(answer.body) == {"code", "message"}
        if by == "ada":
            assert said.statement not in str(answer.body)
    if by == "ada":
        assert await site.desk.look(said) == said
        assert site.eraser.erased == []
