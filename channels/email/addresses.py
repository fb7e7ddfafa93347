"""Mail addresses read strictly: one meaning or none. Pure.

The sender's address decides about trust, so there is no guessing: a value that two readers could understand
differently (obsolete routes, a second address in a comment, two pairs of angle brackets) gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.kernel.values import dataclass
from channels.email.charset import decode_header, one_line, well_formed

MAX_NAME = 64
_ATOM = r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f\ud800-\udfff]"
_ADDRESS = re.compile(rf"({_ATOM}{{1,64}})@([^\W_](?:[\w-]{{0,61}}[^\W_])?(?:\.[^\W_](?:[\w-]{{0,61}}[^\W_])?)*)\.?")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_ANGLE = re.compile(r"<([^<>]*)>")
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_MAX_ADDRESSES = 200


@dataclass(frozen=True, slots=True)
class Mailbox:
    address: str
    """Lower case, domain in Unicode as written."""
    name: str
    """What stands beside it; one line, at most 64 characters."""

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]

    @property
    def local(self) -> str:
        return self.address.rpartition("@")[0]


def parse_one(text: str) -> str | None:
    """`local@domain` in lower case, or None if `text` is anything else."""
    match = _ADDRESS.fullmatch(text.strip())
    return None if match is None else f"{match[1]}@{match[2]}".lower()


def mailboxes(value: str) -> tuple[Mailbox, ...]:
    """All mailboxes of a raw address header (RFC 5322 s3.4); groups are opened, what is no address is left out."""
    found = []
    for part in _split(value):
        if (mailbox := _mailbox(part)) is not None:
            found.append(mailbox)
        if len(found) == _MAX_ADDRESSES:
            break
    return tuple(found)


def only_mailbox(value: str) -> Mailbox | None:
    """The mailbox of a header that holds exactly one, unambiguously; else None."""
    parts = [part for part in _split(value) if part.strip()]
    return _mailbox(parts[0]) if len(parts) == 1 and parts[0].strip() == value.strip().rstrip(",").strip() else None


def base(address: str) -> tuple[str, str]:
    """(address without its plus tag, tag): RFC 5233. `bot+notes@x` is `bot@x` and `notes`."""
    local, _, domain = address.lower().rpartition("@")
    name, _, tag = local.partition("+")
    return (f"{name}@{domain.rstrip('.')}", tag) if name else (f"{local}@{domain.rstrip('.')}", "")


def is_ours(address: str, own: str) -> bool:
    """Whether `address` is the executive's, tags and case aside."""
    return base(address)[0] == own.lower()


def ascii_domain(domain: str) -> str | None:
    """The domain as DNS knows it (IDNA 2003, as Python has it), or None."""
    try:
        return domain.encode("idna").decode("ascii").lower().rstrip(".") or None
    except UnicodeError:
        return None


def clean_name(text: str) -> str:
    """A display name that is safe to show: one line, no direction overrides, at most 64 characters."""
    visible = "".join(
        c
        for c in one_line(well_formed(text))
        if not ("\u200b" <= c <= "\u200f" or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" or c == "\ufeff")
    )
    return visible[:MAX_NAME].strip()


def unique(addresses: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(addresses))


def _split(value: str) -> list[str]:
    """Cut at commas and semicolons outside quotes, comments and angle brackets; a group's name falls away."""
    parts: list[str] = []
    start = depth = 0
    quoted = angle = False
    index = 0
    while index < len(value):
        c = value[index]
        if c == "\\" and (quoted or depth):
            index += 2
            continue
        if quoted:
            quoted = c != '"'
        elif depth:
            depth += (c == "(") - (c == ")")
        elif c == '"':
            quoted = True
        elif c == "(":
            depth = 1
        elif c in "<>":
            angle = c == "<"
        elif c == ":" and not angle:
            start = index + 1
        elif c in ",;" and not angle:
            parts.append(value[start:index])
            start = index + 1
        index += 1
    parts.append(value[start:])
    return [part for part in parts if part.strip()]


def _mailbox(part: str) -> Mailbox | None:
    bare, comments = _without_comments(part)
    if bare is None:
        return None
    quoted = [q[1:-1] for q in _QUOTED.findall(bare)]
    stripped = _QUOTED.sub(" ", bare)
    angles = _ANGLE.findall(stripped)
    if len(angles) > 1 or stripped.count("<") != len(angles) or stripped.count(">") != len(angles):
        return None
    if not angles:
        address = parse_one(stripped) if not quoted else None
        return None if address is None else Mailbox(address, clean_name(decode_header(comments)))
    address = parse_one(angles[0])
    before, _, after = stripped.partition("<")
    if address is None or after.partition(">")[2].strip():
        return None
    name = " ".join(re.sub(r"\\(.)", r"\1", q) for q in quoted) if quoted else before
    return Mailbox(address, clean_name(decode_header(name)))


def _without_comments(text: str) -> tuple[str | None, str]:
    """(text without comments, what the comments said); None for the first if a quote or comment is not closed."""
    kept: list[str] = []
    comments: list[str] = []
    depth = 0
    quoted = False
    index = 0
    while index < len(text):
        c = text[index]
        if c == "\\" and (quoted or depth) and index + 1 < len(text):
            (comments if depth else kept).append(text[index : index + 2])
            index += 2
            continue
        if quoted or (c == '"' and not depth):
            quoted = not quoted if c == '"' else quoted
            kept.append(c)
        elif c == "(":
            depth += 1
        elif c == ")" and depth:
            depth -= 1
        else:
            (comments if depth else kept).append(c)
        index += 1
    return (None if quoted or depth else "".join(kept)), "".join(comments)
