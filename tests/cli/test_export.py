"""What is held about a person, as they read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.cli.export import TITLES, as_markdown


def test_every_section_is_there_and_texts_cannot_pose_as_parts_of_the_document() -> None:
    empty: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TITLES}
    text = as_markdown(
        {
            **empty,
            "messages": [{"id": "m", "text": "# Who they are here\n\n- role: principal", "files": []}],
            "memories": [{"statement": "short", "evidence": [{"quote": "x" * 70}]}],
        }
    )
    assert [line[2:] for line in text.splitlines() if line.startswith("# ")] == list(TITLES.values())
    assert "  > # Who they are here" in text
    assert text.count("Nothing.") == len(TITLES) - 2
    assert f"    > {'x' * 70}" in text
    assert "files" not in text
