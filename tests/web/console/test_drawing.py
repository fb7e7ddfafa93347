"""The picture of a turn: from left to right, no box over another, the same each time."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.kernel.ids import SessionId, TurnId
from bot.orchestrator.turn_graph import Node, Step, TurnGraph
from bot.web.console.drawing import HEIGHT, LINE, WIDTH, Drawn, drawn


def _graph(layers: list[int], skips: list[tuple[int, int]] = []) -> TurnGraph:  # noqa: B006 - never changed
    """Layers of nodes, each node after all of the layer before; and edges that pass layers."""
    numbers: list[list[int]] = []
    for size in layers:
        first = sum(map(len, numbers))
        numbers.append(list(range(first, first + size)))
    edges = [(a, b) for before, after in pairwise(numbers) for a in before for b in after]
    total = sum(layers)
    edges += [(min(pair) % total, max(pair) % total) for pair in skips if min(pair) % total < max(pair) % total]
    nodes = tuple(Node(Step.MESSAGE, f"Node {number}", "some words " * 9) for number in range(total))
    return TurnGraph(TurnId("t"), SessionId("s"), nodes, tuple(dict.fromkeys(edges)), (), ())


def _overlap(picture: Drawn) -> list[tuple[str, str]]:
    found = []
    for number, one in enumerate(picture.boxes):
        for other in picture.boxes[number + 1 :]:
            if abs(one.x - other.x) < WIDTH and abs(one.y - other.y) < HEIGHT:
                found.append((one.title, other.title))
    return found


@given(
    st.lists(st.integers(1, 7), min_size=2, max_size=6),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6),
)
def test_boxes_do_not_cover_each_other_and_edges_go_to_the_right(
    layers: list[int], skips: list[tuple[int, int]]
) -> None:
    graph = _graph(layers, skips)
    picture = drawn(graph)
    assert _overlap(picture) == []
    assert len(picture.boxes) == sum(layers)
    assert len(picture.paths) == len(graph.edges)
    for before, after in graph.edges:
        assert picture.boxes[before].x + WIDTH < picture.boxes[after].x
    assert all(0 <= box.x <= picture.width - WIDTH and 0 <= box.y <= picture.height - HEIGHT for box in picture.boxes)
    for path in picture.paths:
        assert re.fullmatch(r"M[\d.]+ [\d.]+( C([\d.]+ ){5}[\d.]+)+", path), path


def test_the_same_graph_is_always_the_same_picture() -> None:
    graph = _graph([2, 6, 1, 2, 5, 4], [(0, 8), (1, 9)])
    first = drawn(graph)
    assert all(drawn(graph) == first for _ in range(20))


def test_the_smallest_one_is_a_message_and_its_answer() -> None:
    picture = drawn(_graph([1, 1]))
    assert [box.title for box in picture.boxes] == ["Node 0", "Node 1"]
    assert picture.boxes[0].y == picture.boxes[1].y


def test_words_stay_in_their_boxes() -> None:
    long = Node(Step.REPLY, "A title that is much longer than any box is wide", "unbreakable" * 20)
    graph = TurnGraph(TurnId("t"), SessionId("s"), (long, Node(Step.REPLY, "x")), ((0, 1),), (), ())
    box = drawn(graph).boxes[0]
    assert len(box.title) <= LINE
    assert len(box.lines) == 2
    assert all(len(line) <= LINE for line in box.lines)
    assert box.lines[-1].endswith("…")
