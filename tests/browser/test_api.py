"""The API of a running daemon against its own description: whatever is sent, nothing breaks, and nobody unknown is let
in."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.browser.company import Company
from tests.browser.conftest import free_port

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method"
)


@pytest.fixture(scope="module")
def flooded() -> Iterator[Company]:
    """A company of its own: what is sent here would stand in the lists that other tests look at."""
    with TemporaryDirectory(prefix="oe-") as folder:
        made = Company(Path(folder), free_port())
        made.start()
        try:
            made.say("We decided to launch Atlas on 14 March.")
            made.mail("ben@localhost", "Fair", "Initiative: a stand at the Hanover fair in April.")
            yield made
        finally:
            made.stop()


def test_nothing_is_answered_to_who_carries_no_token(company: Company) -> None:
    described = company.api("marta", "GET", "/api/openapi.json")
    asked = [(method.upper(), path) for path, methods in described["paths"].items() for method in methods]
    assert len(asked) > 20
    for method, path in [*asked, ("GET", "/api/openapi.json"), ("GET", "/api/nothing")]:
        request = urllib.request.Request(company.url + path.replace("{id}", "x"), method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        with refused.value as answer:
            assert answer.code == 401, (method, path)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("person", ["marta", "ben"])
def test_whatever_is_sent_is_answered_as_described(flooded: Company, tmp_path: Path, person: str) -> None:
    token = flooded.command("token", "create", person).strip()
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"), "run", f"{flooded.url}/api/openapi.json",
            "--header", f"Authorization: Bearer {token}", "--checks", CHECKS, "--phases", "examples,coverage,fuzzing",
            "--max-examples", "15", "--seed", "20261201", "--workers", "1", "--no-color",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=380, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert flooded.status()["status"] in ("ok", "degraded")
