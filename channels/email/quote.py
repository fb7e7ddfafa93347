"""Whose words each part of a mail's text is. Pure.

Marks that need no language come first: `>` runs, what the HTML marked, our own address or Message-ID in the line above,
a block of header lines with an address and a date. Then the words of `quote_words`. Nothing is cut: the result is spans
over the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bot.gateway.events import Span, SpanKind
from bot.kernel.values import dataclass
from channels.email import quote_words as words

_OWN, _QUOTED, _FORWARDED, _SIGNATURE = SpanKind.OWN, SpanKind.QUOTED, SpanKind.FORWARDED, SpanKind.SIGNATURE

_MARKED = re.compile(r"[ \t]{0,3}(?:>|&gt;|[A-Za-z]{1,4}>)")
_LABEL = re.compile(r"\s*\*{0,2}(?P<label>[^\W\d_][^:：\n]{0,24}?)\s*\*{0,2}\s*[:：]\*{0,2}\s*(?P<value>.*)\Z")
_DIGITS = re.compile(r"\d{1,4}\D{1,4}\d{1,2}|\d{1,2}[:.]\d{2}")
_DATE = re.compile(r"\b(?:19|20)\d\d\b|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}年")
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}|\d{1,2}\s?(?:AM|PM)\b", re.IGNORECASE)
_RULE = re.compile(r"\s*(?:_{10,}|-{10,}|—{5,})\s*\Z")
_MAX_LINE = 500
"""Characters of a line that are looked at; no mark is longer."""
_MAX_ATTRIBUTION_LINES = 4
_MAX_SIGNATURE_LINES = 15


@dataclass(frozen=True, slots=True)
class Known:
    """What a quote of our own mail would show."""

    addresses: Collection[str] = ()
    domain: str = ""
    """Right side of our Message-IDs."""

    def stands_in(self, text: str) -> bool:
        lowered = text.lower()
        if any(address in lowered for address in self.addresses):
            return True
        return bool(self.domain) and bool(re.search(rf"<[0-9a-z]{{24}}@{re.escape(self.domain)}>", lowered))


def split(
    text: str, known: Known, quoted: Sequence[tuple[int, int]] = (), *, subject: str | None = None
) -> tuple[Span, ...]:
    """Spans that cover `text` without gap or overlap; empty for empty text.

    `quoted`: ranges that are known to be quoted. If nothing of the sender's own is left, what was taken for a quote by
    its looks alone (no `>`, no markup, not forwarded) is given back to the sender: better the history once more than
    an answer written below it lost.
    """
    whole = text.split("\n")
    lines = [line[:_MAX_LINE] for line in whole]
    kinds: list[SpanKind] = [_OWN] * len(lines)
    certain = [False] * len(lines)
    _mark_given(whole, kinds, certain, quoted)
    _mark_runs(lines, kinds, certain)
    _mark_attributions(lines, kinds, known)
    _mark_blocks(lines, kinds, known)
    _mark_tail(lines, kinds, known)
    _mark_signatures(lines, kinds)
    forwarded = bool(subject and words.FORWARD_SUBJECT.match(subject))
    if forwarded and not any(k is _FORWARDED for k in kinds):
        kinds = [_FORWARDED if k is _QUOTED else k for k in kinds]
    if not any(k is _OWN and line.strip() for k, line in zip(kinds, lines, strict=True)):
        kinds = [_OWN if k is _QUOTED and not sure else k for k, sure in zip(kinds, certain, strict=True)]
    return _spans(whole, kinds)


def _mark_given(
    lines: list[str], kinds: list[SpanKind], certain: list[bool], ranges: Sequence[tuple[int, int]]
) -> None:
    offset = 0
    for index, line in enumerate(lines):
        if any(start <= offset and offset + len(line) <= end for start, end in ranges):
            kinds[index], certain[index] = _QUOTED, True
        offset += len(line) + 1


def _mark_runs(lines: list[str], kinds: list[SpanKind], certain: list[bool]) -> None:
    """Lines that begin with `>`. A run of blank lines between two quoted ones belongs to the quote."""
    last: int | None = None
    for index, line in enumerate(lines):
        if _MARKED.match(line) and not (last is None and _closes_bracket(lines[max(0, index - 3) : index], line)):
            kinds[index], certain[index] = _QUOTED, True
            if last is not None:
                for between in range(last + 1, index):
                    kinds[between], certain[between] = _QUOTED, True
            last = index
        elif line.strip():
            last = None


def _closes_bracket(above: list[str], line: str) -> bool:
    """An attribution that was wrapped before the `>` of an address: no quote begins here."""
    joined = _join(above)
    return joined.count("<") > joined.count(">") and line.rstrip().endswith((":", "："))


def _mark_attributions(lines: list[str], kinds: list[SpanKind], known: Known) -> None:
    """The line above a quote that says who wrote it, joined if it was wrapped."""
    for index in range(1, len(lines)):
        if kinds[index] is not _QUOTED or kinds[index - 1] is _QUOTED:
            continue
        end = index
        while end > 0 and not lines[end - 1].strip():
            end -= 1
        if index - end > 2 or end == 0:
            continue
        start = _attribution_start(lines, kinds, end, known)
        if start is not None:
            kinds[start:index] = [_QUOTED] * (index - start)


def _attribution_start(lines: list[str], kinds: list[SpanKind], end: int, known: Known) -> int | None:
    """Where the attribution that ends before line `end` begins: the fewest lines that introduce a quote and name a
    moment, else the fewest that introduce one. A line that ends a sentence is not part of it."""
    fewest: int | None = None
    for start in range(end - 1, max(end - 1 - _MAX_ATTRIBUTION_LINES, -1), -1):
        line = lines[start].rstrip()
        if kinds[start] is not _OWN or not line or (start < end - 1 and line.endswith((".", "!", "?", "。"))):
            break
        joined = _join(lines[start:end])
        if _introduces(joined, known):
            fewest = start if fewest is None else fewest
            if _DIGITS.search(joined):
                return start
    return fewest


def _introduces(joined: str, known: Known) -> bool:
    if len(joined) > 400 or not joined.endswith((":", "：")):
        return False
    return bool(_by_words(joined) or (_DIGITS.search(joined) and ("@" in joined or _DATE.search(joined))) or (
        known.stands_in(joined)
    ))  # fmt: skip


def _by_words(joined: str) -> bool:
    return len(joined) <= 400 and any(pattern.match(joined) for pattern in words.ATTRIBUTION)


def _mark_blocks(lines: list[str], kinds: list[SpanKind], known: Known) -> None:
    """`From: / Sent: / To: / Subject:` blocks and the ruled headings above them: all that follows is history."""
    for index, line in enumerate(lines):
        if kinds[index] is not _OWN:
            continue
        forward = words.FORWARD_MARK.match(line) is not None
        if forward or words.ORIGINAL_MARK.match(line):
            _take_rest(kinds, index, _FORWARDED if forward else _QUOTED)
            return
        if _LABEL.match(line) and _is_block(lines[index : index + 16], known):
            start = index
            while (
                start and (not lines[start - 1].strip() or _RULE.match(lines[start - 1])) and kinds[start - 1] is _OWN
            ):
                start -= 1
            _take_rest(kinds, start, _QUOTED)
            return


def _is_block(lines: list[str], known: Known) -> bool:
    """Three or more labelled lines in a row (wrapped values allowed) that are a mail's headers by their labels, or by
    holding both an address and a moment."""
    labels: list[str] = []
    values: list[str] = []
    unlabelled = 0
    for line in lines:
        match = _LABEL.match(line)
        if match is not None and not line.lstrip().startswith(("http", "•", "-")):
            labels.append(match["label"].strip().lower())
            values.append(match["value"])
            unlabelled = 0
        elif not line.strip():
            if values and values[-1].strip():
                break
        else:
            unlabelled += 1
            if unlabelled > 3 or not values:
                break
            values[-1] += " " + line.strip()
    if len(labels) < 3 or not labels:
        return False
    kinds = [any(label in group for label in labels) for group in (words.FROM, words.SENT, words.TO, words.SUBJECT)]
    if labels[0] in words.LABELS and sum(kinds) >= 3:
        return True
    joined = "\n".join(values)
    has_moment = any(_DATE.search(v) and _TIME.search(v) for v in values)
    return ("@" in values[0] or known.stands_in(joined)) and has_moment


def _mark_tail(lines: list[str], kinds: list[SpanKind], known: Known) -> None:
    """An attribution whose quote carries no `>`: it must stand alone and name a moment and a sender."""
    for index, line in enumerate(lines):
        if kinds[index] is not _OWN or not line.rstrip().endswith((":", "：")):
            continue
        for count in range(1, _MAX_ATTRIBUTION_LINES + 1):
            start = index - count + 1
            if start < 0 or kinds[start] is not _OWN or not lines[start].strip():
                break
            joined = _join(lines[start : index + 1])
            alone = start == 0 or not lines[start - 1].strip()
            if alone and _by_words(joined) and _DATE.search(joined) and (_TIME.search(joined) or "@" in joined):
                if any(kinds[i] is _OWN and lines[i].strip() for i in range(index + 1, len(lines))):
                    _take_rest(kinds, start, _QUOTED)
                    return
                break


def _mark_signatures(lines: list[str], kinds: list[SpanKind]) -> None:
    """`-- ` (RFC 3676 s4.3) to the end of the own words around it; a lone `--` only above a short rest; and the lines
    that telephones add."""
    for index, line in enumerate(lines):
        if kinds[index] is not _OWN:
            continue
        end = index
        while end < len(lines) and kinds[end] is _OWN:
            end += 1
        written = sum(1 for other in lines[index + 1 : end] if other.strip())
        if (
            line == "-- "
            or (line.rstrip() == "--" and index and written <= _MAX_SIGNATURE_LINES)
            or (words.SENT_FROM.match(line) and not written)
        ):
            kinds[index:end] = [_SIGNATURE] * (end - index)


def _take_rest(kinds: list[SpanKind], start: int, kind: SpanKind) -> None:
    """Everything from `start` on is of `kind`; what is forwarded stays so even where it was marked as quoted."""
    for index in range(start, len(kinds)):
        if kinds[index] is _OWN or kind is _FORWARDED:
            kinds[index] = kind


def _join(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines).strip()


def _spans(lines: list[str], kinds: list[SpanKind]) -> tuple[Span, ...]:
    """Runs of lines of one kind; each line takes its line end along. Blank own lines join what stands above."""
    spans: list[Span] = []
    offset = 0
    for index, (line, kind) in enumerate(zip(lines, kinds, strict=True)):
        end = offset + len(line) + (index < len(lines) - 1)
        if spans and (spans[-1].kind is kind or (kind is _OWN and not line.strip() and spans[-1].kind is not _OWN)):
            spans[-1] = Span(spans[-1].start, end, spans[-1].kind)
        elif end > offset:
            spans.append(Span(offset, end, kind))
        offset = end
    return tuple(spans)
