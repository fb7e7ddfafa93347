"""Importing without companions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bot.kernel.imports import without


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that takes a companion along if it finds it."""
    (tmp_path / "lib_of_test.py").write_text(
        "try:\n    import companion_of_test\n    has = True\nexcept ImportError:\n    has = False\n"
    )
    (tmp_path / "companion_of_test.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("lib_of_test", "companion_of_test"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("packages")
def test_a_library_does_not_find_its_companion_and_others_find_it_afterwards() -> None:
    with without("companion_of_test"):
        import lib_of_test  # type: ignore[import-not-found]
    assert not lib_of_test.has
    import companion_of_test  # type: ignore[import-not-found]

    assert companion_of_test.__name__ == "companion_of_test"


@pytest.mark.usefixtures("packages")
def test_what_is_loaded_already_stays_loaded() -> None:
    import companion_of_test

    with without("companion_of_test"):
        import lib_of_test
    assert lib_of_test.has
    assert sys.modules["companion_of_test"] is companion_of_test


@pytest.mark.usefixtures("packages")
def test_a_failed_import_hides_nothing_for_good() -> None:
    with pytest.raises(ModuleNotFoundError), without("companion_of_test"):
        import nowhere_of_test  # type: ignore[import-not-found] # noqa: F401
    import companion_of_test  # noqa: F401
