"""Files in: the app's token goes to Slack's own hosts only, and a sign-in page is never taken for a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urljoin, urlsplit

import aiohttp

from bot.gateway.channel import FileStore
from bot.gateway.events import Attachment
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash
from channels.slack.client import Client
from channels.slack.errors import Failure, translate
from channels.slack.manifest import explain
from channels.slack.state import State

MAX_REDIRECTS = 5
_CHUNK = 65536
_HTML = (b"<!doctype html", b"<html")


class Fetcher:
    def __init__(self, client: Client, files: FileStore, state: State, base_url: str, limit: int) -> None:
        self._client = client
        self._files = files
        self._state = state
        self._base = urlsplit(base_url)
        self._limit = limit

    async def fetch(self, attachment: Attachment) -> BlobHash:
        """Raises `TransientError` and `PermanentError`; the latter's words are for the person who sent the file."""
        if not attachment.source:
            raise PermanentError(attachment.fault or "the file is not on Slack")
        try:
            answer = await self._client.web.files_info(file=attachment.source)
        except Failure as error:
            self._state.saw(error)
            raise translate(error, effect=False) from error
        file = answer.get("file") or {}
        url = str(file.get("url_private_download") or file.get("url_private") or "")
        if not url:
            raise PermanentError("the file is kept outside Slack, or is no longer there")
        size = file.get("size")
        if isinstance(size, int) and size > self._limit:
            raise PermanentError(f"too large: I fetch {self._limit / 1e6:.0f} MB at most")
        try:
            return await self._download(url, str(file.get("mimetype") or attachment.declared_type))
        except Failure as error:
            raise translate(error, effect=False) from error

    async def _download(self, url: str, declared: str) -> BlobHash:
        for _ in range(MAX_REDIRECTS):
            headers = {"Authorization": f"Bearer {self._client.token}"} if self.is_slack(url) else {}
            async with self._client.session.get(url, headers=headers, allow_redirects=False) as answer:
                if answer.status in (301, 302, 303, 307, 308):
                    url = self._next(url, answer.headers.get("Location", ""))
                    continue
                self._check(answer)
                return await self._store(answer, declared)
        raise PermanentError("the file's address leads in a circle")

    def is_slack(self, url: str) -> bool:
        """Whether a host may see the token: Slack's by https, and the one that settings name."""
        parts = urlsplit(url)
        if (parts.scheme, parts.netloc) == (self._base.scheme, self._base.netloc):
            return True
        host = (parts.hostname or "").lower()
        return parts.scheme == "https" and (host == "slack.com" or host.endswith((".slack.com", ".slack-gov.com")))

    def _next(self, url: str, location: str) -> str:
        """Where a redirect leads: never from https to http."""
        following = urljoin(url, location)
        scheme = urlsplit(following).scheme
        if not location or scheme not in ("https", self._base.scheme):
            raise PermanentError("the file's address leads to no place that can be trusted")
        return following

    def _check(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status == 429 or answer.status >= 500:
            raise TransientError(f"Slack does not hand out the file now ({answer.status})")
        if answer.status != 200:
            raise PermanentError(f"Slack does not hand out the file ({answer.status})")

    async def _store(self, answer: aiohttp.ClientResponse, declared: str) -> BlobHash:
        first = await answer.content.read(_CHUNK)
        if self._is_sign_in(answer, first, declared):
            self._state.lacks("files:read")
            raise PermanentError(f"Slack shows its sign-in page instead of the file: {explain(['files:read'])}")

        async def chunks() -> AsyncIterator[bytes]:
            yield first
            async for chunk in answer.content.iter_chunked(_CHUNK):
                yield chunk

        return await self._files.put(chunks(), self._limit)

    def _is_sign_in(self, answer: aiohttp.ClientResponse, first: bytes, declared: str) -> bool:
        """A page that does not come as a download, or where something that is no text was declared."""
        page = answer.content_type == "text/html" or first.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_HTML)
        download = "attachment" in answer.headers.get("Content-Disposition", "").lower()
        return page and not (download and declared.startswith("text/"))
