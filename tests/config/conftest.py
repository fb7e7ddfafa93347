"""A folder of its own per test, and `read`: load settings from a text, an environment and secret files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.faults import Fault, SettingsError
from config.loader import Loaded, load


@dataclass(frozen=True)
class Reader:
    folder: Path

    def __call__(self, text: str | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
        if text is not None:
            (self.folder / "openexecutive.toml").write_text(text, encoding="utf-8")
        return load(
            {"HOME": str(self.folder / "home"), **(environ or {})},
            None,
            self.folder,
            system_file=self.folder / "etc" / "openexecutive.toml",
            docker_secrets=self.folder / "run-secrets",
        )

    def faults(self, text: str | None = None, environ: Mapping[str, str] | None = None) -> tuple[Fault, ...]:
        with pytest.raises(SettingsError) as caught:
            self(text, environ)
        assert all(str(fault) in str(caught.value) for fault in caught.value.faults)
        return caught.value.faults

    def fault(self, text: str | None = None, environ: Mapping[str, str] | None = None) -> Fault:
        (fault,) = self.faults(text, environ)
        return fault

    def docker_secret(self, name: str, content: bytes) -> Path:
        folder = self.folder / "run-secrets"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
        return folder / name

    def credential(self, name: str, content: bytes) -> dict[str, str]:
        folder = self.folder / "credentials"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
        return {"CREDENTIALS_DIRECTORY": str(folder)}


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)
