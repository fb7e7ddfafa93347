"""The web, wired: probes, channels' paths, the API and the console. Loads the web server's library, so it is imported
only where the web is on; API and pages are loaded with the first request for one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from urllib.parse import urlsplit

from starlette.routing import BaseRoute

from bot.app import rights, status
from bot.app.opening import Store
from bot.app.rooms import VERSION, Rooms
from bot.app.settings import derived_key
from bot.gateway.channel import Channel
from bot.web.console.hub import Hub
from bot.web.console.visits import Visitors
from bot.web.later import Later
from bot.web.server import Server
from config.schema import Settings

Status = Callable[[], Awaitable[Mapping[str, object]]]
Refuse = Callable[[str], None]


def opened(rooms: Rooms) -> Server:
    """What is served, over all rooms; not listening yet."""
    store, settings = rooms.store, rooms.settings
    refuse, hub = rooms.refusals.at("web"), Hub()
    known = visitors(store, settings)
    routes = [
        *rights.routes(
            store, rooms.forgetting, VERSION, refuse, rooms.ledger.clerk("api"), rooms.scheduling.desk, known
        )
    ]
    if known is not None:
        store.recorder.listen(hub.written)

        def pages() -> Sequence[BaseRoute]:
            made: Sequence[BaseRoute] = import_module("bot.app.console").routes(rooms, known, hub, refuse)
            return made

        routes.append(Later("/", pages))
    return server(settings, rooms.channels, partial(status.told, rooms), refuse, routes, hub)


def visitors(store: Store, settings: Settings) -> Visitors | None:
    """Who is signed in to the console; None where it is off."""
    if not settings.web.console:
        return None
    secure = settings.web.public_url is not None
    return Visitors(store.database, store.recorder, store.clock, derived_key(store.audit_key, "console"), secure)


def server(
    settings: Settings,
    channels: Mapping[str, Channel],
    status: Status,
    refuse: Refuse,
    routes: Sequence[BaseRoute],
    hub: Hub,
) -> Server:
    """`routes`: of API and console."""
    public = settings.web.public_url
    names = () if public is None else (urlsplit(public).netloc,)
    return Server(
        host=settings.web.host,
        port=settings.web.port,
        allowed_hosts=(*settings.web.allowed_hosts, *names),
        status=status,
        routes=[route for channel in channels.values() for route in channel.routes()],
        on_refused=refuse,
        api=routes,
        on_stop=hub.close,
    )
