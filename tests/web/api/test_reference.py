"""The API on paper is the API that is served."""

from __future__ import annotations

import json

from bot.web.api import reference
from tests.web.api.site import Site


def test_the_documents_are_what_the_models_say() -> None:
    of = reference.described()
    again = "python -m bot.web.api.reference writes it anew"
    assert json.loads((reference.DOCS / "openapi.json").read_text()) == json.loads(json.dumps(of)), again
    assert (reference.DOCS / "api.md").read_text() == reference.reference(of), again


async def test_the_daemon_serves_the_same(site: Site) -> None:
    served = (await site.ask("GET", "/api/openapi.json")).body
    assert served["paths"] == json.loads(json.dumps(reference.described()["paths"]))


def test_every_operation_is_named_with_what_it_answers() -> None:
    page = reference.reference(reference.described())
    for path, methods in reference.described()["paths"].items():
        for method in methods:
            assert f"## {method.upper()} {path}\n" in page
    assert "## PATCH /api/memories/{id}\n\nCorrect it" in page
    assert "Takes [MemoryChange](#memorychange).\n\nAnswers [Done](#done)" in page
