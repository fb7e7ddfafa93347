"""Small forms that a person fills in: what a pressed button may open.

`Channel.respond` shows one in answer to a press whose `Choice.opens_form` is set; what was filled in comes back as
`FormSubmitted` with the form's token. Not durable: a form that nobody sends leaves no trace.
"""

from __future__ import annotations

from bot.kernel.values import dataclass

LONGEST_VALUE = 3_000
"""Characters (Slack, plain-text input `initial_value`; Discord takes 4,000, a Telegram message 4,096)."""
LONGEST_TITLE = 24
"""Characters (Slack, view `title`)."""
LONGEST_LABEL = 45
"""Characters (Discord, text input label)."""
MOST_FIELDS = 5
"""Discord, modal components."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    """Comes back in `FormSubmitted.values`."""
    label: str
    value: str = ""
    """What stands in it at first."""
    long: bool = True
    """Several lines."""


@dataclass(frozen=True, slots=True)
class Form:
    """Raises `ValueError` for what not every platform could show."""

    token: str
    """Comes back in `FormSubmitted.token`; at most 64 bytes."""
    title: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if len(self.token.encode()) > 64:
            raise ValueError("a form's token has at most 64 bytes")
        if not 1 <= len(self.fields) <= MOST_FIELDS:
            raise ValueError(f"a form has 1 to {MOST_FIELDS} fields")
        if not 1 <= len(self.title) <= LONGEST_TITLE:
            raise ValueError(f"a form's title has 1 to {LONGEST_TITLE} characters")
        for field in self.fields:
            if not 1 <= len(field.label) <= LONGEST_LABEL or len(field.value) > LONGEST_VALUE:
                raise ValueError(f"the field {field.name} is too long for a form")
