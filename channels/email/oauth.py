"""Login by token (OAuth 2.0): the device code flow (RFC 8628) and refreshed access tokens (RFC 6749 s6).

A person runs `openexecutive mail login` once; what it yields lies in one file of the data folder, readable by the
daemon's account only, and is renewed there. Access tokens never reach a log: errors carry the provider's error code
and nothing else of its answer.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path

from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.values import dataclass
from config.schema import OAuth

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
EARLY = timedelta(minutes=2)
"""A token is renewed so long before its end."""
TIMEOUT = timedelta(seconds=30)
LOG_IN = "run `openexecutive mail login`"
_SLOWER = timedelta(seconds=5)  # RFC 8628 s3.5


@dataclass(frozen=True, slots=True)
class Grant:
    access_token: str = field(repr=False)
    expires_at: datetime
    refresh_token: str | None = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What the person needs: open `url`, type `code`, within `expires_in`."""

    url: str
    code: str
    expires_in: timedelta
    interval: timedelta
    device_code: str = field(repr=False)


class ProviderError(PermanentError):
    """The provider said no. `code`: its error code (RFC 6749 s5.2, RFC 8628 s3.5)."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the provider says {code}")
        self.code = code


def token_file(data_dir: Path) -> Path:
    return data_dir / "keys" / "mail-oauth.json"


def load(path: Path) -> Grant | None:
    """The stored login; None if there is none. Raises `PermanentError` if it cannot be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Grant(stored["access_token"], datetime.fromisoformat(stored["expires_at"]), stored["refresh_token"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PermanentError(f"the login in {path} cannot be read: {LOG_IN}") from error


def save(path: Path, grant: Grant) -> None:
    """Replace the stored login, whole or not at all, mode 0600. Raises `TransientError` if the disk refuses."""
    text = json.dumps(
        {
            "access_token": grant.access_token,
            "expires_at": grant.expires_at.isoformat(),
            "refresh_token": grant.refresh_token,
        }
    )
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise TransientError(f"the login cannot be stored in {path}: {error.strerror}") from error


class AccessTokens:
    """Fresh access tokens from the stored login. The file is read each time: a new login counts at once."""

    def __init__(self, settings: OAuth, file: Path, clock: Clock) -> None:
        self._settings = settings
        self._file = file
        self._clock = clock
        self._lock = asyncio.Lock()

    async def get(self) -> str:
        """Raises `PermanentError` if a person must log in (again), `TransientError` while the provider is away."""
        async with self._lock:
            grant = await asyncio.to_thread(load, self._file)
            if grant is None:
                raise PermanentError(f"nobody has logged in yet: {LOG_IN}")
            if grant.expires_at - EARLY > self._clock.now():
                return grant.access_token
            if grant.refresh_token is None:
                raise PermanentError(f"the login has ended: {LOG_IN}")
            fresh = await self._renewed(grant.refresh_token)
            await asyncio.to_thread(save, self._file, fresh)
            return fresh.access_token

    async def _renewed(self, refresh_token: str) -> Grant:
        asked = {"grant_type": "refresh_token", "refresh_token": refresh_token, "scope": self._settings.scope or ""}
        try:
            answer = await _post(self._settings, self._settings.token_url, asked)
        except ProviderError as error:
            raise PermanentError(f"the login is no longer valid ({error.code}): {LOG_IN}") from error
        return _grant(answer, self._clock, refresh_token)


async def begin(settings: OAuth) -> DeviceCode:
    """Ask for a code (RFC 8628 s3.1). Raises `ProviderError` or `TransientError`."""
    answer = await _post(settings, settings.device_url, {"scope": settings.scope or ""})
    url = answer.get("verification_uri") or answer.get("verification_url")  # the latter is an old draft's name
    code, device_code = answer.get("user_code"), answer.get("device_code")
    if not (isinstance(url, str) and isinstance(code, str) and isinstance(device_code, str)):
        raise PermanentError("the provider's answer holds no code: check channels.email.oauth.device_url")
    return DeviceCode(
        url, code, _seconds(answer.get("expires_in"), 900), _seconds(answer.get("interval"), 5), device_code
    )


async def finish(settings: OAuth, device: DeviceCode, clock: Clock, waiting: Callable[[], None] | None = None) -> Grant:
    """Wait until the person has typed the code (RFC 8628 s3.4). `waiting` is called before each wait. Raises
    `PermanentError` if they said no or took too long."""
    deadline = clock.now() + device.expires_in
    interval = device.interval
    while clock.now() < deadline:
        if waiting is not None:
            waiting()
        await clock.sleep(interval)
        try:
            answer = await _post(
                settings, settings.token_url, {"grant_type": DEVICE_GRANT, "device_code": device.device_code}
            )
        except TransientError:
            interval *= 2  # RFC 8628 s3.5: on a timeout of the connection, back off
            continue
        except ProviderError as error:
            match error.code:
                case "authorization_pending":
                    continue
                case "slow_down":
                    interval += _SLOWER
                    continue
                case "access_denied":
                    raise PermanentError("the login was refused in the browser") from error
                case "expired_token":
                    break
                case _:
                    raise
        return _grant(answer, clock, None)
    raise PermanentError("the code was not used in time; begin again")


def _grant(answer: Mapping[str, object], clock: Clock, refresh_token: str | None) -> Grant:
    """A provider that hands out no new refresh token lets the old one stand (RFC 6749 s6)."""
    access, refresh = answer.get("access_token"), answer.get("refresh_token")
    if not isinstance(access, str) or not access.isascii() or not access.isprintable():
        raise PermanentError("the provider's answer holds no access token: check channels.email.oauth.token_url")
    kept = refresh if isinstance(refresh, str) else refresh_token
    return Grant(access, clock.now() + _seconds(answer.get("expires_in"), 3600), kept)


def _seconds(value: object, otherwise: int) -> timedelta:
    try:
        return timedelta(seconds=min(max(int(str(value)), 1), 86_400))
    except ValueError:
        return timedelta(seconds=otherwise)


async def _post(settings: OAuth, url: str | None, form: Mapping[str, str]) -> Mapping[str, object]:
    """One request; the JSON object of its answer. Raises `ProviderError` for an error code, else `TransientError`."""
    import httpx

    if url is None or settings.client_id is None:
        raise PermanentError("channels.email.oauth is not set")
    whole = {"client_id": settings.client_id, **form}
    if settings.client_secret is not None:
        whole["client_secret"] = settings.client_secret.get_secret_value()
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT.total_seconds(), follow_redirects=False) as client:
            response = await client.post(url, data=whole, headers={"Accept": "application/json"})
    except httpx.HTTPError as error:
        raise TransientError(f"the login's provider cannot be reached ({type(error).__name__})") from error
    try:
        answer: object = response.json()
    except ValueError:
        answer = None
    if response.status_code == 200 and isinstance(answer, dict):
        return answer
    raise _refused(response.status_code, answer)


def _refused(status: int, answer: object) -> OpenExecutiveError:
    code = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(code, str) and 400 <= status < 500 and status != 429:
        return ProviderError("".join(c for c in code if c.isalnum() or c in "_-")[:60])
    return TransientError(f"the login's provider answers with status {status}")
