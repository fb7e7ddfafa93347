"""The built-in notes, read from the package: Markdown with a short head of `name: value` lines. Pure, but for reading
the package's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bot.kernel.values import dataclass
from bot.knowledge.cutting import Section, cut

FOLDER = Path(__file__).parent / "corpus"
_FENCE = "---\n"


@dataclass(frozen=True, slots=True)
class Note:
    name: str
    """`<domain>/<slug>`."""
    title: str
    domain: str
    departments: tuple[str, ...]
    keywords: tuple[str, ...]
    reviewed: datetime
    text: str
    digest: str
    """SHA-256 of the whole file."""

    def sections(self) -> tuple[Section, ...]:
        return cut(self.text, paged=False)


def notes(folder: Path = FOLDER) -> Iterator[Note]:
    """Every note, in the order of their names. Raises ValueError for one that is not well formed."""
    for path in sorted(folder.glob("*/*.md")):
        yield parse(f"{path.parent.name}/{path.stem}", path.read_text(encoding="utf-8"))


def parse(name: str, whole: str) -> Note:
    """Raises ValueError when the head is missing or incomplete."""
    before, fence, rest = whole.partition(_FENCE)
    head, closing, text = rest.partition(f"\n{_FENCE}")
    if before or not fence or not closing:
        raise ValueError(f"note {name} has no head")
    fields = dict(line.partition(": ")[::2] for line in head.splitlines())
    try:
        return Note(
            name,
            fields["title"].strip(),
            fields["domain"].strip(),
            _listed(fields["departments"]),
            _listed(fields["keywords"]),
            datetime.strptime(fields["reviewed"].strip(), "%Y-%m").replace(tzinfo=UTC),
            text.strip(),
            hashlib.sha256(whole.encode()).hexdigest(),
        )
    except KeyError as error:
        raise ValueError(f"note {name} has no {error.args[0]}") from error


def _listed(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.strip().removeprefix("[").removesuffix("]").split(",") if item.strip())
