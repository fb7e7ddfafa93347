"""The API of a running daemon against its own description: whatever is sent, nothing breaks, and nobody unknown is let
in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.company import Company

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth,"
    "unsupported_method"
)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("person", ["marta", "ben"])
def test_whatever_is_sent_is_answered_as_described(company: Company, tmp_path: Path, person: str) -> None:
    token = company.command("token", "create", person).strip()
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"), "run", f"{company.url}/api/openapi.json",
            "--header", f"Authorization: Bearer {token}", "--checks", CHECKS, "--phases", "examples,coverage,fuzzing",
            "--max-examples", "15", "--seed", "20261201", "--workers", "1", "--no-color",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=380, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert company.status()["status"] in ("ok", "degraded")
