"""A graph of a turn, laid out from left to right, as numbers that a template draws as SVG. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bot.kernel.values import dataclass
from bot.orchestrator.turn_graph import Node, TurnGraph

WIDTH, HEIGHT = 172, 66
"""Of a box, in units of the view."""
ACROSS, DOWN = 212, 82
"""From box to box."""
LINE, LINES = 24, 2
"""Characters of a line, and lines of the text under a title."""
TITLE = 19
"""Characters of a title, which is bold."""
EDGE = 14
"""Room for an edge that passes a box."""
MARGIN = 6


@dataclass(frozen=True, slots=True)
class Box:
    node: Node
    x: float
    """Of the left upper corner."""
    y: float
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    width: float
    height: float
    boxes: tuple[Box, ...]
    paths: tuple[str, ...]
    """`d` of SVG paths."""


def drawn(graph: TurnGraph) -> Drawn:
    """Raises nothing: a graph has at least a message and an answer, with an edge between."""
    from fast_sugiyama import from_edges  # an extension module: only who looks at a graph pays for it

    # Numbers, not names: the order of their set is always the same, and so is the picture.
    ((placed, _, _, steps),) = from_edges(graph.edges, vertex_spacing=DOWN, dummy_size=EDGE, minimum_length=1)
    wide, high = max(x for _, (x, _) in placed), max(y for _, (_, y) in placed)
    # What is laid out from the top (the largest y) down, and from the right, is drawn from the left, and from the top.
    at = {place: ((high - y) / DOWN * ACROSS + MARGIN, wide - x + MARGIN) for place, (x, y) in placed}
    boxes = [_box(node, *at[number]) for number, node in enumerate(graph.nodes)]
    left = {number: box.x for number, box in enumerate(boxes)}
    paths = [_path(way, at, left) for way in _ways(steps or (), len(graph.nodes))]
    width = max(box.x for box in boxes) + WIDTH + MARGIN
    height = max(box.y for box in boxes) + HEIGHT + MARGIN
    return Drawn(width, height, tuple(boxes), tuple(paths))


def _box(node: Node, x: float, y: float) -> Box:
    text = " ".join(node.text.split())
    lines = textwrap.wrap(text, LINE, max_lines=LINES, placeholder=" …", break_long_words=True)
    return Box(node, round(x, 1), round(y, 1), textwrap.shorten(node.title, TITLE, placeholder=" …"), tuple(lines))


def _ways(steps: Iterable[tuple[int | str, int | str]], nodes: int) -> list[list[int]]:
    """Edges from box to box, each with the points by which it goes around others."""
    pairs = sorted((int(a), int(b)) for a, b in steps)
    onward = {a: b for a, b in pairs if a >= nodes}
    found = []
    for start, end in (each for each in pairs if each[0] < nodes):
        way = [start, end]
        while way[-1] >= nodes:
            way.append(onward[way[-1]])
        found.append(way)
    return found


def _path(way: Sequence[int], at: dict[int | str, tuple[float, float]], left: dict[int, float]) -> str:
    """From the right side of a box to the left side of another, in curves that leave and arrive level."""
    points: list[tuple[float, float]] = []
    for place in way:
        x, y = at[place]
        inside = place in left
        points += [(x + WIDTH, y + HEIGHT / 2)] if place == way[0] else [(x, y + (HEIGHT if inside else 0) / 2)]
        if not inside:  # along a whole layer, so that it stays clear of the boxes above and below
            points.append((x + WIDTH, y))
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = (x1 + x2) / 2
        parts.append(f"C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}")
    return " ".join(parts)
