"""Which field a statement belongs to."""

from __future__ import annotations

import pytest

from bot.extraction import domains

ALL = frozenset({"strategy", "finance", "people", "counsel", "operations", "marketing", "product", "board"})


@pytest.mark.parametrize(
    ("statement", "domain"),
    [
        ("Our runway is 14 months.", "finance"),
        ("We decided to hire two engineers in Berlin.", "people"),
        ("The lease ends on 31 December 2027.", "counsel"),
        ("We will go with Hetzner for hosting.", "operations"),
        ("The campaign for the new brand starts in May.", "marketing"),
        ("We launch the beta in March.", "product"),
        ("Dividends are suspended for two years by the board.", "board"),
        ("Our biggest competitor is Contoso.", "strategy"),
        ("Unsere Kündigungsfrist beträgt drei Monate.", "people"),
        ("Jonas lives in Graz.", None),
    ],
)
def test_telling_words_name_the_field(statement: str, domain: str | None) -> None:
    assert domains.of(statement, ALL) == domain


def test_a_field_that_is_switched_off_is_not_named() -> None:
    assert domains.of("Our runway is 14 months.", frozenset({"people"})) is None
