"""The channel itself: ties receiving, sending and drafts together and speaks to the gateway. The only I/O is theirs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.gateway.channel import ChannelContext, Health, HttpRoute, Inbox, LocalHandler, NotReadyError
from bot.gateway.events import Attachment, MessageReceived, ReplyPath
from bot.gateway.forms import MOST_FIELDS, Form
from bot.gateway.operations import Found, OutboundOp, Receipt, Reply
from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import BlobHash, OutboxId, TurnId
from bot.kernel.retry import Backoff
from bot.kernel.supervise import Bell, cancel, start
from channels.slack.catchup import CatchUp
from channels.slack.client import Client
from channels.slack.directory import Directory, Me, clean_name
from channels.slack.drafts import Drafts
from channels.slack.errors import CREDENTIALS, CREDENTIALS_REFUSED, Failure, code_of, translate
from channels.slack.fetch import Fetcher
from channels.slack.find import Finder
from channels.slack.interactions import view
from channels.slack.keys import NAME, Pressed, message_of, target_of, thread_key
from channels.slack.lanes import Lanes
from channels.slack.link import STALE, Link
from channels.slack.manifest import missing
from channels.slack.mapping import title_of
from channels.slack.mark import NAME as MARK
from channels.slack.mark import Mark
from channels.slack.receive import Receiver
from channels.slack.render import PLACEHOLDER, escape, plan
from channels.slack.send import Deliverer
from channels.slack.state import State
from channels.slack.threads import Threads
from config.schema import Slack as Settings

log = logging.getLogger(__name__)

CONNECT = Backoff(first=timedelta(seconds=0.5), cap=timedelta(seconds=60))
SLOW = timedelta(minutes=5)
"""Between tries with a token that is refused."""
MAX_RESPONSE = 3000
TOO_LATE = "That took me too long. Please press the button once more."
_TRIGGER_GONE = frozenset({"expired_trigger_id", "exchanged_trigger_id", "trigger_exchanged", "trigger_expired"})


class Slack:
    """`bot.gateway.channel.Channel` on Socket Mode and the Web API."""

    def __init__(self, settings: Settings, context: ChannelContext) -> None:
        if settings.bot_token is None or settings.app_token is None:
            raise PermanentError("channels.slack.bot_token and channels.slack.app_token must be set")
        self._settings = settings
        self._context = context
        self._app_token = settings.app_token.get_secret_value()
        clock, supervisor = context.clock, context.supervisor
        self._client = Client(settings.bot_token.get_secret_value(), settings.base_url)
        self._state = State(clock)
        self._directory = Directory(self._client, clock, supervisor, self._state, settings.company_team)
        self._drafts = Drafts(self._client, clock, supervisor, self._state)
        self._deliverer = Deliverer(self._client, context.files, self._drafts, self._state)
        self._finder = Finder(self._client, clock, self._state)
        self._fetcher = Fetcher(self._client, context.files, self._state, settings.base_url, settings.max_download)
        self._mark = Mark()
        self._gap = Bell(context.clock)
        self._assistant: set[tuple[str, str]] = set()
        self._link: Link | None = None
        self._me: Me | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def placeholder(self) -> str:
        return PLACEHOLDER

    @property
    def has_buttons(self) -> bool:
        return True

    @property
    def form_fields(self) -> int:
        return MOST_FIELDS

    async def direct(self, address: str) -> ReplyPath:
        """The direct conversation with a member, opened if there is none (conversations.open)."""
        me = self._connected()
        return ReplyPath(thread_key(me.team, await self._deliverer.direct(address), None), address)

    async def run(self, inbox: Inbox) -> None:
        self._client.open()
        await self._begin(inbox)
        while True:
            me = await self._identify()
            self._state.dead.clear()
            self._me = me
            self._context.ready()
            try:
                await self._receive(me, inbox)
            finally:
                self._me = None
                self._link = None

    def plan(self, reply: Reply) -> Sequence[OutboundOp]:
        return plan(reply)

    async def send(self, op: OutboundOp, key: OutboxId, again: bool) -> Receipt:
        me = self._connected()
        try:
            made = await self._deliverer.deliver(me.team, op, key, again)
        except TransientError as error:
            if error.retry_after is not None:
                self._drafts.hush(target_of(op.path.thread).channel, error.retry_after)
            raise
        return Receipt(made, self._context.clock.now())

    async def find(self, op: OutboundOp, key: OutboxId, tried_at: datetime) -> Found:
        return await self._finder.find(self._connected(), op, key, tried_at)

    async def draft(self, path: ReplyPath, turn: TurnId, text: str | None, ref: str | None = None) -> None:
        if self._me is not None:
            await self._drafts.show(target_of(path.thread), text, ref)

    async def fetch(self, attachment: Attachment) -> BlobHash:
        self._connected()
        return await self._fetcher.fetch(attachment)

    async def respond(self, response: str, answer: str | Form) -> None:
        """Tell only the person who pressed, through the address that came with the press (valid for 30 minutes), or
        open a form before them."""
        pressed = Pressed.read(response)
        url = response if pressed is None else pressed.url
        if not self._fetcher.is_slack(url):
            raise PermanentError("the press carries no address of Slack")
        if isinstance(answer, Form):
            if pressed is None:
                raise PermanentError("only a press can be answered with a form")
            if await self._show(answer, pressed):
                return
            answer = TOO_LATE
        body = {"response_type": "ephemeral", "replace_original": False, "text": escape(answer[:MAX_RESPONSE])}
        try:
            async with self._client.session.post(url, json=body, allow_redirects=False) as given:
                if given.status >= 400:
                    log.info("slack: a press was answered too late (%s)", given.status)
        except Failure as error:
            raise translate(error, effect=False) from error

    async def _show(self, form: Form, pressed: Pressed) -> bool:
        """False if it is too late for that."""
        try:
            await self._client.web.views_open(trigger_id=pressed.trigger, view=view(form, pressed))
        except Failure as error:
            if code_of(error) in _TRIGGER_GONE:
                log.info("slack: a form was opened too late (%s)", code_of(error))
                return False
            raise translate(error, effect=False) from error
        return True

    async def erase(self, path: ReplyPath, ref: str) -> bool:
        self._connected()
        channel, ts = message_of(ref)
        try:
            await self._client.web.chat_delete(channel=channel, ts=ts)
        except Failure as error:
            self._state.saw(error)
            if code_of(error) == "message_not_found":
                return True
            failure = translate(error, effect=False)
            if isinstance(failure, PermanentError):
                log.info("slack: %s cannot be deleted: %s", ref, failure.message)
                return False
            raise failure from error
        return True

    def health(self) -> Health:
        silent = self._link.silent_for() if self._link is not None else None
        if self._state.receiving and silent is not None and silent > STALE:
            self._state.bad(f"nothing came from Slack for {silent.total_seconds():.0f} s, not even an answer to a ping")
        return replace(self._state.health(), sending=self._me is not None)

    def routes(self) -> Sequence[HttpRoute]:
        return ()

    def local(self) -> Mapping[str, LocalHandler]:
        return {}

    async def close(self) -> None:
        await self._client.close()

    # --- running ---------------------------------------------------------------------------------------------------

    async def _begin(self, inbox: Inbox) -> None:
        """Find out where the last process left off, and write it down if there was none: what is said from now on is
        not to be missed even if nothing comes before the next start."""
        failures = 0
        while True:
            try:
                stored = await inbox.cursor(MARK)
                self._mark.start(stored, self._context.clock.now())
                due = self._mark.due(self._context.clock.now())
                if stored is None and due is not None:
                    await inbox.accept((), due)
                    self._mark.written(due)
            except TransientError as error:
                failures += 1
                self._state.bad(f"the store is not there yet: {error.message}")
                await self._context.clock.sleep(CONNECT.delay(failures))
            else:
                return

    async def _receive(self, me: Me, inbox: Inbox) -> None:
        """Receive as this account until Slack says that it is gone."""
        clock = self._context.clock
        threads, lanes = Threads(), Lanes()
        receiver = Receiver(
            me,
            self._directory,
            threads,
            self._mark,
            inbox,
            clock,
            self._state,
            self._settings.max_download,
            self._gap,
            lambda channel, root: self._assistant.add((channel, root)),
            self._on_new,
        )
        catch_up = CatchUp(
            self._client,
            me,
            receiver,
            threads,
            self._mark,
            inbox,
            clock,
            lanes,
            self._state,
            self._settings.read_back_days,
            self._gap,
        )
        self._link = Link(
            self._client,
            self._app_token,
            clock,
            self._context.supervisor,
            self._state,
            receiver.dispatch,
            lanes,
            self._up,
            lambda: self._mark.gap(clock.now()),
        )
        tasks = [
            start("slack link", self._link.run()),
            start("slack read-back", catch_up.run()),
            start("slack credentials", _true(self._state.dead)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                await cancel(task)

    async def _identify(self) -> Me:
        """Ask who we are until Slack says so, for ever. Without that nothing is received: we could answer ourselves."""
        failures = 0
        while True:
            try:
                answer = await self._client.web.auth_test()
                user, team = str(answer.get("user_id") or ""), str(answer.get("team_id") or "")
            except Failure as error:
                failures += 1
                failure = translate(error, effect=False)
                asked = failure.retry_after if isinstance(failure, TransientError) else None
                wait = CONNECT.delay(failures, asked)
                if code_of(error) in CREDENTIALS:
                    self._state.bad(CREDENTIALS_REFUSED.format(code=code_of(error)))
                    wait = SLOW
                else:
                    self._state.bad(failure.message)
            else:
                if user and team:
                    return self._introduced(answer, user, team)
                self._state.bad("Slack does not say who the app is")
                wait = SLOW
            await self._context.clock.sleep(wait)

    def _introduced(self, answer: AsyncSlackResponse, user: str, team: str) -> Me:
        """Every answer names the token's scopes in a header; what is missing is told in `health`."""
        headers = {str(name).lower(): str(value) for name, value in dict(answer.headers).items()}
        scopes = frozenset(part.strip() for part in headers.get("x-oauth-scopes", "").split(",") if part.strip())
        self._state.lacking = missing(scopes) if scopes else []
        declared = self._settings.company_team
        if declared is not None and declared != team:
            log.warning("slack: the app is in workspace %s, and channels.slack.company_team says %s", team, declared)
        name = clean_name(str(answer.get("user") or "executive"))
        self._state.where = f"@{name} in {clean_name(str(answer.get('team') or team))}"
        return Me(team, user, str(answer.get("bot_id") or ""), name, scopes)

    def _on_new(self, event: MessageReceived, root: str) -> None:
        """The first message of a thread in the assistant view gives it its title."""
        channel = target_of(event.reply_path.thread).channel
        if self._me is not None and (channel, root) in self._assistant:
            self._assistant.discard((channel, root))
            title = title_of(event.body.text, self._me)
            self._context.supervisor.job("slack title", self._drafts.title(channel, root, title))

    def _up(self) -> None:
        """A socket has said hello: what was missed is to be read back, and what could not be sent may go out."""
        self._gap.ring()
        self._context.ready()

    def _connected(self) -> Me:
        if self._me is None:
            raise NotReadyError(self._state.reason or "not connected to Slack yet")
        return self._me


async def _true(event: asyncio.Event) -> None:
    await event.wait()
