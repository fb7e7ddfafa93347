"""The gateway of the Discord stand-in: HELLO, IDENTIFY, heartbeats, events, RESUME, and all the ways it goes wrong.

A session outlives its connection: what is dispatched meanwhile is replayed on RESUME. Text frames are sent although
the library asks for compression, which Discord's clients accept. Source: Discord's public documentation (Gateway).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.discord_world import DM, World
from tests.fakes.faults import CutAfter, CutBefore, FaultPlan, Record, Twice

JsonObject = dict[str, Any]

MEMBERS, PRESENCES, CONTENT = 1 << 1, 1 << 8, 1 << 15
_LAST_INTENT = 1 << 25
_CHUNK = 1000
"""Members in one answer."""
_NEEDS = {
    "GUILD_MEMBER_ADD": (MEMBERS, MEMBERS),
    "GUILD_MEMBER_REMOVE": (MEMBERS, MEMBERS),
    "MESSAGE_CREATE": (1 << 9, 1 << 12),
    "MESSAGE_UPDATE": (1 << 9, 1 << 12),
    "MESSAGE_DELETE": (1 << 9, 1 << 12),
    "MESSAGE_DELETE_BULK": (1 << 9, 1 << 12),
    "TYPING_START": (1 << 11, 1 << 14),
}
"""Intent that an event needs in a guild and in direct messages; all others come with GUILDS or always."""


@dataclass
class Session:
    id: str
    intents: int
    sent: list[JsonObject] = field(default_factory=list)
    """Every event, its `s` being its place in the list."""
    frames: asyncio.Queue[JsonObject | int | None] | None = None
    """To the connection that serves this session now: a payload, a close code, or None for a cut."""

    def put(self, frame: JsonObject | int | None) -> None:
        if self.frames is not None:
            self.frames.put_nowait(frame)


class Gateway:
    """`interval`: seconds between heartbeats that HELLO asks for. While `muted` nothing at all is sent; while
    `deaf_to_heartbeats` only acknowledgements are missing."""

    def __init__(self, world: World, faults: FaultPlan, record: Record, token: str, interval: float) -> None:
        self.world = world
        self.interval = interval
        self.url = ""
        self.muted = False
        self.deaf_to_heartbeats = False
        self.sessions: dict[str, Session] = {}
        self._faults = faults
        self._record = record
        self._token = token
        self._numbers = 0

    @property
    def connected(self) -> list[Session]:
        return [session for session in self.sessions.values() if session.frames is not None]

    # --- what a test makes it do ---

    def dispatch(self, event: str, payload: JsonObject) -> None:
        """Send an event to every session whose intents allow it; kept for those that are not connected now."""
        times = 2 if any(isinstance(fault, Twice) for fault in self._faults.take(event)) else 1
        for session in self.sessions.values():
            shown = self._seen_by(session, event, payload)
            for _ in range(times if shown is not None else 0):
                self._send(session, event, json.loads(json.dumps(shown)))

    def reconnect(self) -> None:
        """Ask everybody to reconnect and resume (op 7)."""
        for session in self.connected:
            session.put({"op": 7, "d": None})

    def invalidate(self, *, resumable: bool = False) -> None:
        """INVALID_SESSION (op 9)."""
        for session in self.connected:
            session.put({"op": 9, "d": resumable})
            if not resumable:
                self.sessions.pop(session.id, None)

    def close(self, code: int) -> None:
        for session in self.connected:
            session.put(code)

    def drop(self) -> None:
        """Cut the connections without a word."""
        for session in self.connected:
            session.put(None)

    def forget(self) -> None:
        """Lose the sessions that are not connected: they cannot be resumed."""
        self.sessions = {key: session for key, session in self.sessions.items() if session.frames is not None}

    # --- one connection ---

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self._record.add("connect", {})
        if self._faults.dark or any(isinstance(fault, CutAfter) for fault in self._faults.take("gateway")):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        socket = web.WebSocketResponse(autoping=True)
        await socket.prepare(request)
        frames: asyncio.Queue[JsonObject | int | None] = asyncio.Queue()
        frames.put_nowait({"op": 10, "d": {"heartbeat_interval": int(self.interval * 1000), "_trace": []}})
        # The far end is not part of the daemon: this task ends with its connection.
        writer = asyncio.create_task(self._write(socket, frames, request))  # noqa: TID251
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._take(json.loads(message.data), frames)
        finally:
            for session in self.sessions.values():
                if session.frames is frames:
                    session.frames = None
            writer.cancel()
            await asyncio.wait([writer])
        return socket

    async def _write(
        self, socket: web.WebSocketResponse, frames: asyncio.Queue[JsonObject | int | None], request: web.Request
    ) -> None:
        while True:
            frame = await frames.get()
            if frame is None:
                if request.transport is not None:
                    request.transport.abort()
                return
            if isinstance(frame, int):
                await socket.close(code=frame)
                return
            if self.muted or socket.closed:
                continue
            await socket.send_str(json.dumps(frame))

    def _take(self, frame: JsonObject, frames: asyncio.Queue[JsonObject | int | None]) -> None:
        op, data = frame.get("op"), frame.get("d")
        names = {1: "heartbeat", 2: "identify", 6: "resume", 8: "request_members"}
        self._record.add(names.get(op or 0, f"op {op}"), data if isinstance(data, dict) else {"d": data})
        if op == 1:
            if not self.deaf_to_heartbeats:
                frames.put_nowait({"op": 11, "d": None})
        elif op == 2 and isinstance(data, dict):
            self._identify(data, frames)
        elif op == 6 and isinstance(data, dict):
            self._resume(data, frames)
        elif op == 8 and isinstance(data, dict):
            self._list_members(data, frames)

    def _list_members(self, data: JsonObject, frames: asyncio.Queue[JsonObject | int | None]) -> None:
        """All members of a guild, for whoever asks with an empty query and no limit."""
        if any(isinstance(fault, CutBefore) for fault in self._faults.take("requestMembers")):
            frames.put_nowait(None)
            return
        guild = self.world.guilds.get(str(data.get("guild_id")))
        session = next((session for session in self.sessions.values() if session.frames is frames), None)
        if guild is None or session is None or not session.intents & MEMBERS or data.get("query") or data.get("limit"):
            return
        members = list(guild.members.values())
        chunks = [members[n : n + _CHUNK] for n in range(0, len(members), _CHUNK)]
        for index, chunk in enumerate(chunks):
            answer = {"guild_id": guild.id, "members": chunk, "chunk_index": index, "chunk_count": len(chunks),
                      "not_found": [], "nonce": data.get("nonce")}  # fmt: skip
            self._send(session, "GUILD_MEMBERS_CHUNK", answer)

    def _identify(self, data: JsonObject, frames: asyncio.Queue[JsonObject | int | None]) -> None:
        if data.get("token") != self._token:
            frames.put_nowait(4004)
            return
        intents = int(data.get("intents", 0))
        if intents >= _LAST_INTENT << 1:
            frames.put_nowait(4013)
            return
        allowed = (CONTENT if self.world.content_intent else 0) | (MEMBERS if self.world.members_intent else 0)
        if intents & (MEMBERS | PRESENCES | CONTENT) & ~allowed:
            frames.put_nowait(4014)
            return
        self._numbers += 1
        session = Session(f"session{self._numbers}", intents, frames=frames)
        self.sessions[session.id] = session
        guilds = [{"id": guild, "unavailable": True} for guild in self.world.guilds]
        application = {"id": self.world.bot["id"], "flags": flags(self.world)}
        ready = {"v": 10, "user": self.world.bot, "guilds": guilds, "session_id": session.id,
                 "resume_gateway_url": self.url, "application": application, "private_channels": []}  # fmt: skip
        self._send(session, "READY", ready)
        for guild in self.world.guilds:
            self._send(session, "GUILD_CREATE", self.world.guild_json(guild, members=bool(intents & PRESENCES)))

    def _resume(self, data: JsonObject, frames: asyncio.Queue[JsonObject | int | None]) -> None:
        session = self.sessions.get(str(data.get("session_id")))
        if data.get("token") != self._token:
            frames.put_nowait(4004)
        elif session is None or int(data.get("seq") or 0) > len(session.sent):
            frames.put_nowait({"op": 9, "d": False})
        else:
            session.frames = frames
            for frame in session.sent[int(data.get("seq") or 0) :]:
                frames.put_nowait(frame)
            self._send(session, "RESUMED", {"_trace": []})

    def _send(self, session: Session, event: str, payload: JsonObject) -> None:
        frame = {"op": 0, "t": event, "s": len(session.sent) + 1, "d": payload}
        session.sent.append(frame)
        session.put(frame)

    def _seen_by(self, session: Session, event: str, payload: JsonObject) -> JsonObject | None:
        guild, direct = _NEEDS.get(event, (0, 0))
        needed = guild if "guild_id" in payload else direct
        if needed & ~session.intents:
            return None
        channel = self.world.channels.get(str(payload.get("channel_id")))
        if channel is not None and "view" in channel.denied:
            return None
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and not session.intents & CONTENT:
            return without_content(payload, self.world)
        return payload


def without_content(message: JsonObject, world: World) -> JsonObject:
    """What an application sees without the Message Content intent: everything in direct messages, in messages that
    mention it and in its own; elsewhere neither text nor files."""
    channel = world.channels.get(message["channel_id"])
    mine = message["author"]["id"] == world.bot["id"]
    named = any(user["id"] == world.bot["id"] for user in message["mentions"])
    if mine or named or (channel is not None and channel.type == DM):
        return message
    return {**message, "content": "", "embeds": [], "attachments": [], "components": []}


def flags(world: World) -> int:
    """The application's flags: which privileged intents the portal allows (for apps in fewer than 100 guilds)."""
    return (1 << 15 if world.members_intent else 0) | (1 << 19 if world.content_intent else 0)
