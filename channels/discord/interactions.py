"""Slash commands: how they are made known to the platform, and how they, presses and forms are acknowledged.

An interaction wants an answer within three seconds and accepts more for fifteen minutes (Discord, Interactions). It
gets a word that only its sender sees; what the executive says comes as ordinary messages.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from bot.gateway.channel import Accepted
from bot.gateway.commands import COMMANDS
from bot.gateway.forms import LONGEST_VALUE, Form
from bot.kernel.errors import OpenExecutiveError
from bot.kernel.supervise import Supervisor
from channels.discord.client import Api
from channels.discord.content import Payload
from channels.discord.errors import REQUEST_ERRORS, code_of, status_of, translate
from channels.discord.keys import opens_form
from channels.discord.presses import ASK
from channels.discord.send import NO_PINGS

log = logging.getLogger(__name__)

MAX_TEXT = 2000
EPHEMERAL = 1 << 6
_MESSAGE, _DEFERRED_UPDATE, _MODAL = 4, 6, 9
_TEXT_OPTION = 3
_GUILD, _BOT_DM = 0, 1
"""Interaction contexts: where a command is offered."""
_COMPONENT = 3
_LABEL, _TEXT_INPUT = 18, 4
_SHORT, _PARAGRAPH = 1, 2
FORM_WITHIN = 2.0
"""Seconds in which a press that opens a form must be given it; the platform itself waits three."""
TOO_LATE = "That took me too long. Please press the button once more."
_TAKEN, _ON_IT = "Noted.", "On it: the answer comes here."
_NOT_TAKEN = "Nothing was done."
_LATER = "I cannot take this right now. Please try again in a minute."


def definitions() -> list[dict[str, Any]]:
    """The application commands, without where they are offered."""
    made = [_command(ASK, "ask me something; I answer in this channel", text="what you want to know", required=True)]
    made += [_command(c.name, c.summary, text=c.takes or None) for c in COMMANDS.values()]
    return made


def _command(name: str, summary: str, *, text: str | None = None, required: bool = False) -> dict[str, Any]:
    option = {"type": _TEXT_OPTION, "name": "text", "description": text, "required": required}
    return {"name": name, "type": 1, "description": summary[:100], "options": [option] if text is not None else []}


async def register(api: Api, application: int, guilds: tuple[int, ...]) -> None:
    """Put the commands in place of those that were there: in the listed guilds at once and elsewhere only in direct
    messages, or everywhere. A refusal is logged: typed commands work without."""
    contexts = [_BOT_DM] if guilds else [_GUILD, _BOT_DM]
    everywhere = [{**one, "contexts": contexts, "integration_types": [0]} for one in definitions()]
    await _put(api, "/applications/{application_id}/commands", everywhere, application, None)
    for guild in guilds:
        path = "/applications/{application_id}/guilds/{guild_id}/commands"
        await _put(api, path, definitions(), application, guild)


async def _put(api: Api, path: str, commands: list[dict[str, Any]], application: int, guild: int | None) -> None:
    try:
        await api.call("PUT", path, json=commands, application_id=application, guild_id=guild)
    except REQUEST_ERRORS as error:
        log.warning("discord: slash commands of %s: %s", guild or "all servers", translate(error).message)
    except OpenExecutiveError as error:
        log.warning("discord: slash commands: %s", error.message)


class Interactions:
    """Answers to those that are open. `received` is called before an interaction is handed over, so that what is said
    to its sender comes after its acknowledgement."""

    def __init__(self, api: Api, supervisor: Supervisor) -> None:
        self._api = api
        self._supervisor = supervisor
        self._open: dict[str, asyncio.Event] = {}
        self._forms: dict[str, asyncio.Future[dict[str, Any] | None]] = {}
        """Presses that wait for their form, or for the word that there is none."""

    def received(self, payload: Payload) -> None:
        token = str(payload["token"])
        self._open[token] = asyncio.Event()
        if _wants_form(payload):
            self._forms[token] = asyncio.get_running_loop().create_future()

    def acknowledge(self, payload: Payload, accepted: Accepted | None) -> None:
        """Answer at once: with a word for the sender alone, a press that was taken without one. None: it could not be
        taken, and the platform does not come again."""
        self._supervisor.job("discord acknowledge", self._acknowledge(payload, _answer(payload, accepted)))

    async def _acknowledge(self, payload: Payload, answer: dict[str, Any]) -> None:
        path = "/interactions/{interaction_id}/{webhook_token}/callback"
        token = str(payload["token"])
        given = self._forms.get(token)
        if given is not None and answer["type"] == _DEFERRED_UPDATE:
            await asyncio.wait({given}, timeout=FORM_WITHIN)
            answer = (given.result() if given.done() else None) or answer
        self._forms.pop(token, None)
        try:
            await self._api.call("POST", path, json=answer, interaction_id=int(payload["id"]), webhook_token=token)
        except REQUEST_ERRORS as error:
            log.info("discord: an interaction was not acknowledged: %s", translate(error).message)
        except OpenExecutiveError as error:
            log.info("discord: an interaction was not acknowledged: %s", error.message)
        finally:
            if (done := self._open.pop(token, None)) is not None:
                done.set()

    async def respond(self, application: int, response: str, answer: str | Form) -> None:
        """Say something to the sender alone: in place of the acknowledgement, or (a press has none) as a message of
        its own. A form is the acknowledgement. Too late is no failure. Raises like `Channel.respond`."""
        kind, _, token = response.partition(":")
        waiting = self._forms.get(token)
        form = modal(answer) if isinstance(answer, Form) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(form)
            if form is not None:
                return
        text = answer if isinstance(answer, str) else TOO_LATE
        words: dict[str, Any] = {"content": text[:MAX_TEXT] or "…", "allowed_mentions": NO_PINGS}
        path = "/webhooks/{application_id}/{webhook_token}"
        if (acknowledged := self._open.get(token)) is not None:
            await acknowledged.wait()
        try:
            if kind == "press":
                words["flags"] = EPHEMERAL
                await self._api.call("POST", path, json=words, application_id=application, webhook_token=token)
            else:
                path += "/messages/@original"
                await self._api.call("PATCH", path, json=words, application_id=application, webhook_token=token)
        except REQUEST_ERRORS as error:
            if status_of(error) in (400, 401, 403, 404):
                log.info("discord: an interaction was answered too late (%s)", code_of(error))
                return
            raise translate(error, effect=False) from error


def modal(form: Form) -> dict[str, Any]:
    """A form as the platform shows it (Discord, Interaction Callback: modal)."""
    fields = [
        {
            "type": _LABEL,
            "label": field.label,
            "component": {
                "type": _TEXT_INPUT,
                "custom_id": field.name,
                "style": _PARAGRAPH if field.long else _SHORT,
                "required": True,
                "max_length": LONGEST_VALUE,
                **({"value": field.value} if field.value else {}),
            },
        }
        for field in form.fields
    ]
    return {"type": _MODAL, "data": {"custom_id": form.token, "title": form.title, "components": fields}}


def _wants_form(payload: Payload) -> bool:
    custom_id = str((payload.get("data") or {}).get("custom_id") or "")
    return int(payload["type"]) == _COMPONENT and opens_form(custom_id)


def _answer(payload: Payload, accepted: Accepted | None) -> dict[str, Any]:
    if int(payload["type"]) == _COMPONENT and accepted is not None:
        return {"type": _DEFERRED_UPDATE}
    if accepted is None:
        words = _LATER
    elif accepted in (Accepted.REFUSED, Accepted.IGNORED):
        words = _NOT_TAKEN
    else:
        words = _ON_IT if (payload.get("data") or {}).get("name") == ASK else _TAKEN
    return {"type": _MESSAGE, "data": {"content": words, "flags": EPHEMERAL, "allowed_mentions": NO_PINGS}}
