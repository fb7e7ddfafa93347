"""What a Telegram message says: its text, whose words each part is, and its files. Pure.

Entity offsets and lengths are UTF-16 units (Bot API, MessageEntity).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from telegram import Message, MessageEntity

from bot.gateway.events import Attachment, Body, Span, SpanKind
from bot.gateway.text_units import utf16_span
from bot.kernel.values import dataclass

MAX_QUOTE = 4096
_QUOTES = (MessageEntity.BLOCKQUOTE, MessageEntity.EXPANDABLE_BLOCKQUOTE)


@dataclass(frozen=True, slots=True)
class Me:
    """The bot's own account, as getMe verified it."""

    id: int
    username: str


def text_of(message: Message) -> str:
    return message.text or message.caption or ""


def entities_of(message: Message) -> Sequence[MessageEntity]:
    return message.entities if message.text else message.caption_entities


def slices(message: Message) -> Iterator[tuple[MessageEntity, int, int]]:
    """Entities with their code-point ranges; those that do not lie in the text are left out."""
    text = text_of(message)
    for entity in entities_of(message):
        span = utf16_span(text, entity.offset, entity.length)
        if span is not None:
            yield entity, *span


def mentions(message: Message, me: Me) -> tuple[tuple[int, int], ...]:
    """Ranges of the text that name the bot: `@name`, `/command@name` or a mention without a name. Case is ignored."""
    name = f"@{me.username}".lower()
    text = text_of(message)
    found = []
    for entity, start, end in slices(message):
        word = text[start:end].lower()
        if (
            (entity.type == MessageEntity.MENTION and word == name)
            or (entity.type == MessageEntity.BOT_COMMAND and word.endswith(name))
            or (entity.type == MessageEntity.TEXT_MENTION and entity.user is not None and entity.user.id == me.id)
        ):
            found.append((start, end))
    return tuple(found)


def body_of(message: Message) -> Body:
    """Text and caption as written, then what else the message carries in words of ours (marked as not the sender's)."""
    text = text_of(message)
    notes = [*_placeholders(message), *_hidden_links(message)]
    full = "\n".join(part for part in (text, *notes) if part)
    if message.forward_origin is not None or message.is_automatic_forward:
        return Body(full, (Span(0, len(full), SpanKind.FORWARDED),)) if full else Body("")
    foreign = [(start, end) for entity, start, end in slices(message) if entity.type in _QUOTES]
    if len(full) > len(text):
        foreign.append((len(text), len(full)))
    return Body(full, _spans(len(full), sorted(foreign)))


def _spans(length: int, quoted: list[tuple[int, int]]) -> tuple[Span, ...]:
    if not quoted:
        return ()
    spans: list[Span] = []
    done = 0
    for begin, end in quoted:
        start = max(begin, done)
        if start >= end:
            continue
        if start > done:
            spans.append(Span(done, start, SpanKind.OWN))
        spans.append(Span(start, end, SpanKind.QUOTED))
        done = end
    if done < length:
        spans.append(Span(done, length, SpanKind.OWN))
    return tuple(spans)


def quotes_of(message: Message) -> str | None:
    """Text of the message that this one answers; the part that was picked, if one was."""
    if message.quote is not None:
        return message.quote.text[:MAX_QUOTE]
    answered = answered_message(message)
    return text_of(answered)[:MAX_QUOTE] or None if answered is not None else None


def answered_message(message: Message) -> Message | None:
    """The message that this one answers. In a topic every message "answers" the topic's creation: that is none."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created is not None:
        return None
    if message.is_topic_message and answered.message_id == message.message_thread_id:
        return None
    return answered


def attachments_of(message: Message, limit: int) -> tuple[Attachment, ...]:
    """Documents, photos and audio. What is larger than `limit` bytes carries its fault instead of a source
    (Bot API getFile: 20 MB)."""
    if message.document is not None and message.animation is None:
        file = message.document
        kind = file.mime_type or "application/octet-stream"
        return (_attachment(file.file_name or "file", kind, file.file_size, file.file_id, limit),)
    if message.photo:
        fitting = [size for size in message.photo if (size.file_size or 0) <= limit] or [message.photo[0]]
        best = max(fitting, key=lambda size: (size.width * size.height, size.file_size or 0))
        return (_attachment("photo.jpg", "image/jpeg", best.file_size, best.file_id, limit),)
    if message.audio is not None:
        track = message.audio
        kind = track.mime_type or "audio/mpeg"
        return (_attachment(track.file_name or track.title or "audio", kind, track.file_size, track.file_id, limit),)
    return ()


def _attachment(name: str, kind: str, size: int | None, file_id: str, limit: int) -> Attachment:
    if size is not None and size > limit:
        fault = f"too large: {size / 1e6:.1f} MB, and bots can fetch {limit / 1e6:.0f} MB at most"
        return Attachment(name, kind, size, fault=fault)
    return Attachment(name, kind, size, source=file_id)


def _hidden_links(message: Message) -> Iterator[str]:
    text = text_of(message)
    for entity, start, end in slices(message):
        if entity.type == MessageEntity.TEXT_LINK and entity.url:
            yield f"[link: {text[start:end]} → {entity.url}]"


def _placeholders(message: Message) -> Iterator[str]:
    """A line for each thing that is neither text nor a file that is read."""
    if message.sticker is not None:
        yield f"[sticker {message.sticker.emoji or ''}]".replace(" ]", "]")
    if message.voice is not None:
        yield "[voice message]"
    if message.video is not None:
        yield f"[video {message.video.file_name or ''}]".replace(" ]", "]")
    if message.video_note is not None:
        yield "[video message]"
    if message.animation is not None:
        yield "[animation]"
    if message.venue is not None:
        yield f"[venue: {message.venue.title}, {message.venue.address}]"
    elif message.location is not None:
        yield f"[location: {message.location.latitude:.5f}, {message.location.longitude:.5f}]"
    if message.contact is not None:
        names = (message.contact.first_name, message.contact.last_name, message.contact.phone_number)
        yield f"[contact: {' '.join(name for name in names if name)}]"
    if message.poll is not None:
        yield f"[poll: {message.poll.question} ({'; '.join(option.text for option in message.poll.options)})]"
    if message.dice is not None:
        yield f"[{message.dice.emoji} {message.dice.value}]"
    if message.story is not None:
        yield "[story]"
    if message.game is not None:
        yield f"[game: {message.game.title}]"
