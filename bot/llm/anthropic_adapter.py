"""The Messages API through the official SDK. Imported by `bot.llm.anthropic.build` alone: the SDK is large and slow.

Retries, deadlines and the fallback are ours; the SDK's own retries are off, because it obeys any `retry-after`, does
not retry an error inside a stream and takes a broken stream for a whole answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing
from datetime import timedelta
from typing import TypeVar

import httpx2
from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncAnthropic, AsyncStream
from anthropic.types import Message, RawMessageStreamEvent

from bot.kernel.clock import Clock
from bot.kernel.errors import OpenExecutiveError, PermanentError, TransientError
from bot.kernel.logs import Redactor
from bot.kernel.retry import Backoff
from bot.llm.anthropic_errors import Refusal, meaning, retry_after
from bot.llm.anthropic_wire import Answer, Unfinished, written
from bot.llm.model import (
    BadRequestError,
    ContextTooLongError,
    Event,
    Finished,
    ModelHealth,
    Request,
    Restarted,
    TextDelta,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

TRIES = 4
"""Calls for one answer, fallback included; with a fallback the first model gets half of them."""

_DRAIN = 0.5
"""Seconds to wait for the end of a response after its last event, so that the connection can be used again."""


class _OutOfTimeError(TransientError):
    """The request's deadline has passed: no further try."""


class _UnreachableError(TransientError):
    """No answer from the server at all: another model of the same server is no better at once."""


class AnthropicModel:
    provider = "anthropic"

    def __init__(
        self,
        client: AsyncAnthropic,
        fallback: Mapping[str, str | None],
        clock: Clock,
        backoff: Backoff,
        redactor: Redactor,
    ) -> None:
        self._client = client
        self._fallback = fallback
        self._clock = clock
        self._backoff = backoff
        self._redactor = redactor
        self._health = ModelHealth(ok=True)

    def health(self) -> ModelHealth:
        return self._health

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Model.stream`. The request is sent as it is: `converse` makes it fit."""
        try:
            async with aclosing(self._tries(request)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._health = ModelHealth(ok=True)
                    yield event
        except (BadRequestError, ContextTooLongError):
            self._health = ModelHealth(ok=True)
            raise
        except OpenExecutiveError as error:
            self._health = ModelHealth(ok=False, reason=error.message)
            raise

    async def _tries(self, request: Request) -> AsyncGenerator[Event, None]:
        end = self._clock.monotonic() + request.deadline.total_seconds()
        models = self._plan(request.model)
        shown = False
        failure: TransientError | None = None
        for number, model in enumerate(models, start=1):
            try:
                void = shown
                async with aclosing(self._call(request, model, end)) as events:
                    async for event in events:
                        if void:
                            void = shown = False
                            yield Restarted()
                        shown = shown or isinstance(event, TextDelta)
                        yield event
            except _OutOfTimeError:
                raise
            except TransientError as error:
                if number == len(models):
                    raise
                failure = error
                log.warning("model %s, try %d of %d: %s", model, number, len(models), error.message)
                elsewhere = models[number] != model and not isinstance(error, _UnreachableError)
                if not elsewhere:
                    await self._wait(number, error, end)
            except PermanentError as error:
                if model == request.model or failure is None:
                    raise
                log.warning("the fallback %s cannot take over: %s", model, error.message)
                if number == len(models):
                    raise failure from error
                models[number:] = [request.model] * (len(models) - number)
                await self._wait(number, failure, end)
            else:
                return

    def _plan(self, model: str) -> list[str]:
        """The model of each try."""
        fallback = self._fallback.get(model)
        if fallback is None or fallback == model:
            return [model] * TRIES
        return [model] * (TRIES // 2) + [fallback] * (TRIES - TRIES // 2)

    async def _wait(self, number: int, error: TransientError, end: float) -> None:
        """Wait before the next try. Raises `error` if the deadline would pass meanwhile."""
        delay = self._backoff.delay(number, error.retry_after)
        if delay.total_seconds() >= end - self._clock.monotonic():
            raise error
        await self._clock.sleep(delay)

    async def _call(self, request: Request, model: str, end: float) -> AsyncGenerator[Event, None]:
        """One call, one complete answer. Every wait for the server ends at `end`."""
        answer = Answer(model)
        # Not by `messages.create`: it would copy, look through and write the tools anew for every call.
        opening = self._client.post(
            "/v1/messages",
            cast_to=Message,
            content=written(request, model),
            stream=True,
            stream_cls=AsyncStream[RawMessageStreamEvent],
        )
        stream = await self._bounded(opening, request, model, end)
        async with stream:
            while not answer.complete:
                event = await self._bounded(anext(stream, None), request, model, end)
                if event is None:
                    break
                if text := answer.feed(event):
                    yield TextDelta(text)
            try:
                last = answer.finished()
            except Unfinished as error:
                raise TransientError(f"The model's answer was not complete: {error}.") from error
            await self._drain(stream)
        yield last

    async def _drain(self, stream: AsyncStream[RawMessageStreamEvent]) -> None:
        try:
            async with asyncio.timeout(_DRAIN):
                async for _ in stream:
                    pass
        except (TimeoutError, APIError, httpx2.HTTPError, json.JSONDecodeError):
            log.debug("the response did not end after its last event")

    async def _bounded(self, wait: Awaitable[T], request: Request, model: str, end: float) -> T:
        """`wait` until the deadline, the SDK's errors as the port's."""
        try:
            async with asyncio.timeout(max(0.0, end - self._clock.monotonic())):
                return await wait
        except TimeoutError as error:
            seconds = request.deadline.total_seconds()
            raise _OutOfTimeError(f"The model gave no complete answer within {seconds:g} seconds.") from error
        except APIStatusError as error:
            told = error.api_message or error.message
            refusal = Refusal(
                status=error.status_code,
                kind=error.type,
                message=self._redactor.clean(told),
                code=error.error_code,
                retry_after=retry_after(error.response.headers, self._clock.now()),
            )
            raise meaning(refusal, request, model) from error
        except (APITimeoutError, httpx2.TimeoutException) as error:
            raise _UnreachableError("The model's server was silent for too long.") from error
        except (APIConnectionError, httpx2.TransportError) as error:
            raise _UnreachableError("The model's server cannot be reached, or cut the connection.") from error
        except (APIError, httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise TransientError("The model's server sent something unreadable.") from error


def timeouts(silence: timedelta) -> httpx2.Timeout:
    """`silence` is the longest wait for the next byte; connecting takes at most ten seconds of it."""
    seconds = silence.total_seconds()
    return httpx2.Timeout(seconds, connect=min(10.0, seconds))
