"""Faults of a request in words that name no form of the validator's."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.kernel.faults import in_words


class Inner(BaseModel):
    size: int


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: str = Field("because", min_length=1, max_length=5)
    due: date | Literal[""] | None = None
    kinds: tuple[Literal["red", "blue"], ...] = ()
    inner: Inner | None = None
    sure: bool = True


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"due": "tomorrow"}, "due: has to be a day like 2026-03-01 or empty"),
        ({"kinds": ["green"]}, "kinds: has to be red or blue"),
        ({"kinds": "red"}, "kinds: has to be a list"),
        ({"reason": ""}, "reason: is too short: 1 at least"),
        ({"reason": "too long"}, "reason: is too long: 5 at most"),
        ({"reason": 5, "sure": "perhaps"}, "reason: has to be a text; sure: has to be true or false"),
        ({"inner": {}}, "inner.size: is missing"),
        ({"inner": "big"}, "inner: has to be an object"),
        ({"other": 1}, "other: is not known here"),
        ([], "body: has to be an object"),
    ],
)
def test_what_is_wrong_is_told_in_words(given: Any, told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Asked.model_validate(given)
    assert in_words(raised.value.errors()) == told
