"""One answer from any model: the repairs before the call and the defined path of every way in which it may end.

Above the adapters and the same for all: history made fit, `pause_turn` continued, a tool call that was cut asked for
again with more room, an image that was refused taken out. All of it is bounded, and all within the request's deadline.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

from bot.kernel.errors import TransientError
from bot.llm import images, repair
from bot.llm.model import (
    BadImageError,
    BadRequestError,
    Block,
    ContextTooLongError,
    Event,
    Finished,
    Message,
    Model,
    Request,
    Restarted,
    StopReason,
    Text,
    TextDelta,
    ToolUse,
    Usage,
)
from bot.llm.stops import CUT_IN_TOOL_INPUT, STILL_PAUSED

log = logging.getLogger(__name__)

PAUSES = 5
MOST_TOKENS = 64_000
"""Output limit of the smaller current models: more room is not asked for."""

_MAY_CALL = (StopReason.TOOL_USE, StopReason.END_TURN, StopReason.STOP_SEQUENCE)


def prepare(request: Request) -> Request:
    """`request` as it may be sent: history fit, images true and within limits, marks within limits. Idempotent."""
    system = tuple(block for block in request.system if block.text.strip())
    messages = repair.fit(images.checked(request.messages))
    return repair.limit_marks(replace(request, system=system, messages=messages))


async def converse(model: Model, request: Request) -> AsyncGenerator[Event, None]:
    """Ask `model`; `Finished` comes last and exactly once, or an error is raised. Its usage is that of all calls.

    Tool calls come out only when the answer ended in a way that means them. Raises what `Model.stream` raises, and
    `ContextTooLongError` also when the model itself said so by its stop reason.
    """
    async with aclosing(_Conversation(model, request).events()) as events:
        async for event in events:
            yield event


class _Conversation:
    def __init__(self, model: Model, request: Request) -> None:
        self._model = model
        self._request = prepare(request)
        self._end = asyncio.get_running_loop().time() + request.deadline.total_seconds()
        self._said: tuple[Block, ...] = ()
        """Content of the calls before a pause: part of the answer."""
        self._usage = Usage()
        self._shown = False
        """Whether text of the running call was handed out."""
        self._pauses = 0
        self._refused_images = 0
        self._cut: Finished | None = None
        """The answer that was cut inside a tool call, once more room was asked for."""

    async def events(self) -> AsyncGenerator[Event, None]:
        while True:
            outcome: Finished | None = None
            try:
                async with aclosing(self._call()) as events:
                    async for event in events:
                        if isinstance(event, Finished):
                            outcome = event
                        else:
                            yield event
            except BadImageError as error:
                self._take_out(error)
                outcome = None
            except (BadRequestError, ContextTooLongError):
                if self._cut is None:
                    raise
                outcome = self._cut
            else:
                if outcome is None:
                    raise TransientError("The model's answer broke off.")
                self._usage += outcome.usage
            if outcome is not None and (last := self._decide(outcome)) is not None:
                yield last
                return
            if outcome is None or outcome.stop is not StopReason.PAUSE_TURN:
                for again in self._again():
                    yield again
            self._shown = False

    async def _call(self) -> AsyncGenerator[Event, None]:
        left = self._end - asyncio.get_running_loop().time()
        if left <= 0:
            raise TransientError("The model gave no complete answer in time.")
        messages = (*self._request.messages, Message("assistant", self._said)) if self._said else self._request.messages
        asked = replace(self._request, messages=repair.fit(messages), deadline=timedelta(seconds=left))
        events: AsyncIterator[Event] = self._model.stream(asked)
        try:
            async for event in events:
                if isinstance(event, Restarted):
                    for again in self._again():
                        yield again
                else:
                    self._shown = self._shown or isinstance(event, TextDelta)
                    yield event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    def _again(self) -> tuple[Event, ...]:
        """What tells the reader that the running call's text is void, but that of earlier calls is not."""
        if not self._shown:
            return ()
        self._shown = False
        text = "".join(block.text for block in self._said if isinstance(block, Text))
        return (Restarted(), TextDelta(text)) if text else (Restarted(),)

    def _decide(self, outcome: Finished) -> Finished | None:
        """The end of the conversation, or None to call again."""
        calls = any(isinstance(block, ToolUse) for block in outcome.content)
        if outcome.stop is StopReason.CONTEXT_EXCEEDED:
            raise ContextTooLongError("The conversation does not fit the model.")
        if outcome.stop is StopReason.PAUSE_TURN:
            self._said += outcome.content
            self._pauses += 1
            if self._pauses <= PAUSES:
                return None
            return self._last(replace(outcome, content=(), detail=STILL_PAUSED))
        if outcome.stop is StopReason.MAX_TOKENS and (calls or outcome.detail == CUT_IN_TOOL_INPUT):
            more = min(2 * self._request.max_tokens, MOST_TOKENS)
            if self._cut is None and more > self._request.max_tokens:
                self._cut = outcome
                self._request = replace(self._request, max_tokens=more)
                return None
            outcome = replace(outcome, detail=CUT_IN_TOOL_INPUT)
        if outcome.stop is StopReason.UNKNOWN:
            log.warning("the model stopped for a reason that is not known here: %r", outcome.detail)
        if outcome.stop is StopReason.TOOL_USE and not calls:
            outcome = replace(outcome, stop=StopReason.END_TURN)
        return self._last(outcome)

    def _last(self, outcome: Finished) -> Finished:
        content = (*self._said, *outcome.content)
        if outcome.stop not in _MAY_CALL:
            content = tuple(block for block in content if not isinstance(block, ToolUse))
        return replace(outcome, content=content, usage=self._usage)

    def _take_out(self, error: BadImageError) -> None:
        """Replace the refused image by a note; a second refusal costs all images, a third is the caller's."""
        self._refused_images += 1
        if self._refused_images > 2:
            raise error
        which = error.index if self._refused_images == 1 else None
        log.warning("the model refused an image (%s): asking again without it", "all" if which is None else which)
        self._request = replace(self._request, messages=images.without(self._request.messages, which))
