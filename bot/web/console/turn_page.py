"""One turn: from the message to what came of it, as a graph, and every entry of it below."""

from __future__ import annotations

import sqlalchemy as sa
from starlette.routing import Route

from bot.kernel.ids import TurnId
from bot.orchestrator import turn_graph
from bot.orchestrator.turn_graph import Node, Step, TurnGraph
from bot.sessions import trail
from bot.storage.database import Database
from bot.web.console.audit import Line, called, lines, names_of
from bot.web.console.drawing import HEIGHT, WIDTH, drawn
from bot.web.console.site import Page, Site
from bot.web.console.visits import Visit
from bot.web.refusals import UnknownThingError

KINDS = {
    Step.MESSAGE: "Message",
    Step.RECALL: "Recalled",
    Step.LOOKUP: "Documents",
    Step.TOOL: "Tool",
    Step.CONSULT: "Consulted",
    Step.REPLY: "Answer",
    Step.PROPOSAL: "Approval",
    Step.EXTRACTION: "Read for memories",
    Step.MEMORY: "Remembered",
    Step.LATER: "Later answer",
}


class TurnPage:
    def __init__(self, database: Database) -> None:
        self._database = database

    def routes(self, site: Site) -> list[Route]:
        return [site.page("/audit/turns/{turn}", self.show)]

    async def show(self, visit: Visit) -> Page:
        turn = TurnId(visit.request.path_params["turn"])

        def query(connection: sa.Connection) -> tuple[TurnGraph, list[Line], str] | None:
            graph = turn_graph.graph(connection, visit.scope, turn)
            if graph is None:
                return None
            place = trail.places(connection, visit.scope, 1, [graph.session])
            told = lines(connection, visit, graph.entries, names_of(connection, visit))
            return graph, told, called(place[0]) if place else "a conversation"

        found = await self._database.read(query, long=True)
        if found is None:
            raise UnknownThingError("There is no such turn.")
        graph, told, place = found
        values = {
            "graph": graph,
            "drawn": drawn(graph),
            "box": {"width": WIDTH, "height": HEIGHT},
            "kinds": KINDS,
            "href": href,
            "lines": told,
            "place": place,
        }
        return Page("audit/turn.html", values)


def href(node: Node) -> str | None:
    """Where a node leads."""
    if node.ref is None:
        return None
    match node.step:
        case Step.MESSAGE | Step.REPLY:
            return f"#m-{node.ref}"
        case Step.RECALL | Step.MEMORY:
            return f"/memories/{node.ref}"
        case Step.PROPOSAL:
            return f"/approvals/{node.ref}"
        case Step.LATER:
            return f"/audit/turns/{node.ref}"
        case _:
            return None
