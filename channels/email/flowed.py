"""text/plain with format=flowed (RFC 3676): soft line ends taken back, so that paragraphs stand whole. Pure."""

from __future__ import annotations


def unfold(text: str, *, delete_space: bool) -> str:
    """Join lines that end in a space with the next one of the same quote depth. `-- ` is a signature line, never soft.

    Quote marks stay in front of each joined line; space stuffing is undone.
    """
    result: list[str] = []
    depth_before: int | None = None
    soft = False
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:]
        content = content.removeprefix(" ")
        if soft and depth == depth_before and content != "-- ":
            result[-1] += content
        else:
            result.append((">" * depth + " " if depth else "") + content)
        soft = content.endswith(" ") and content != "-- "
        if soft and delete_space:
            result[-1] = result[-1][:-1]
        depth_before = depth
    return "\n".join(line if line.endswith("-- ") else line.rstrip(" ") for line in result)
