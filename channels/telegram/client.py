"""The library's client as this channel uses it: raw updates, two connection pools, no retries, status codes kept."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import timedelta

from telegram import Bot, Update
from telegram.request import HTTPXRequest, RequestData

from channels.telegram.errors import ServerFailureError

JsonObject = dict[str, object]

ALLOWED_UPDATES = (
    Update.MESSAGE,
    Update.EDITED_MESSAGE,
    Update.CHANNEL_POST,
    Update.EDITED_CHANNEL_POST,
    Update.CALLBACK_QUERY,
    Update.MY_CHAT_MEMBER,
    Update.CHAT_MEMBER,
)


class _Request(HTTPXRequest):
    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = HTTPXRequest.DEFAULT_NONE,
        write_timeout: object = HTTPXRequest.DEFAULT_NONE,
        connect_timeout: object = HTTPXRequest.DEFAULT_NONE,
        pool_timeout: object = HTTPXRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        status, payload = await super().do_request(
            url,
            method,
            request_data,
            read_timeout,  # type: ignore[arg-type]
            write_timeout,  # type: ignore[arg-type]
            connect_timeout,  # type: ignore[arg-type]
            pool_timeout,  # type: ignore[arg-type]
        )
        if status >= 500:
            raise ServerFailureError(status, _description(payload))
        return status, payload


def _description(payload: bytes) -> str:
    try:
        answer = json.loads(payload)
    except ValueError:
        return "no readable answer"
    return str(answer.get("description", ""))[:200] if isinstance(answer, dict) else ""


class Client(Bot):
    """`telegram.Bot` whose updates come as they were sent, so that one that cannot be read does not stop the rest."""

    async def raw_updates(self, offset: int | None, timeout: timedelta) -> Sequence[JsonObject]:
        """Confirm everything below `offset` and wait up to `timeout` for updates (Bot API getUpdates)."""
        seconds = int(timeout.total_seconds())
        result = await self._post(
            "getUpdates",
            {"offset": offset, "timeout": seconds, "allowed_updates": list(ALLOWED_UPDATES)},
            read_timeout=seconds + 10.0,
        )
        return result if isinstance(result, list) else []

    async def renew_polling(self) -> None:
        """Drop the polling pool with all its connections and open a fresh one."""
        polling, _ = self._request
        await polling.shutdown()
        await polling.initialize()

    async def close_pools(self) -> None:
        for pool in self._request:
            await pool.shutdown()


def build_client(token: str, base_url: str) -> Client:
    """A client with one pool for polling and one for everything else. Opens no connection."""
    # The library warns on every 429 unless it is told that durations may be timedeltas.
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    root = base_url.rstrip("/")
    return Client(
        token,
        base_url=f"{root}/bot",
        base_file_url=f"{root}/file/bot",
        request=_Request(
            connection_pool_size=64,
            connect_timeout=10.0,
            read_timeout=30.0,
            write_timeout=30.0,
            pool_timeout=10.0,
            media_write_timeout=60.0,
        ),
        get_updates_request=_Request(
            connection_pool_size=2, connect_timeout=10.0, read_timeout=10.0, write_timeout=10.0, pool_timeout=5.0
        ),
    )
