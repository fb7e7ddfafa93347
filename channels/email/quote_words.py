"""The words by which mail programs introduce what they quote, in the languages that they speak. Data only.

Used after the language-neutral marks; a language that is missing costs nothing that those marks find.
"""

from __future__ import annotations

import re


def _words(listed: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in listed.split("|"))


FROM = _words(
    """
    from | von | de | da | van | fra | från | od | от | 发件人 | 寄件者 | 寄件人 | 差出人 | 送信者 |
    보낸 사람 | gönderen | lähettäjä | feladó | de la | 从
    """
)
SENT = _words(
    """
    sent | date | gesendet | datum | envoyé | date d'envoi | enviado | enviado el | fecha | inviato | data |
    verzonden | sendt | dato | skickat | enviada em | enviada | data de envio | wysłano | wysłane | odesláno |
    отправлено | дата | 发送时间 | 发送日期 | 日期 | 寄件日期 | 時間 | 时间 | 送信日時 | 日時 | 日付 |
    보낸 날짜 | lähetetty
    """
)
TO = _words(
    """
    to | an | à | a | para | aan | til | till | do | komu | кому | 收件人 | 宛先 | 받는 사람 | kime |
    vastaanottaja | pour | per
    """
)
SUBJECT = _words(
    """
    subject | betreff | objet | asunto | oggetto | onderwerp | emne | ämne | assunto | temat | předmět | тема |
    主题 | 主題 | 主旨 | 件名 | 제목 | konu | aihe
    """
)
OTHER = _words(
    """
    cc | bcc | kopie | copie | copia | kopi | kopia | dw | udw | kopie (cc) | копия | 抄送 | 副本 | 참조 |
    reply-to | antwort an | importance | priority | attachments | anlagen
    """
)
LABELS = frozenset(FROM + SENT + TO + SUBJECT + OTHER)

_ORIGINAL = _words(
    """
    original message | original-nachricht | originalnachricht | ursprüngliche nachricht | ursprüngliche mail |
    message d'origine | message original | message initial | mensaje original | messaggio originale |
    oorspronkelijk bericht | opprinnelig melding | oprindelig meddelelse | original meddelelse |
    originalmeddelande | ursprungligt meddelande | mensagem original | oryginalna wiadomość |
    wiadomość oryginalna | původní zpráva | původní e-mail | исходное сообщение | пересылаемое сообщение |
    原始邮件 | 原始郵件 | 元のメッセージ | original appointment
    """
)
_FORWARDED = _words(
    """
    forwarded message | begin forwarded message | weitergeleitete nachricht |
    anfang der weitergeleiteten nachricht | message transféré | message transmis | début du message transféré |
    début du message réexpédié | mensaje reenviado | inicio del mensaje reenviado | messaggio inoltrato |
    inizio messaggio inoltrato | doorgestuurd bericht | begin doorgestuurd bericht | videresendt melding |
    videresendt besked | videresendt meddelelse | vidarebefordrat meddelande | vidarebefordrat brev |
    mensagem encaminhada | início da mensagem reencaminhada | wiadomość przekazana | przekazana wiadomość |
    przeposlaná zpráva | переслано | пересланное сообщение | пересылаемое сообщение | 转发的邮件 | 转发邮件 |
    轉寄的郵件 | 転送メッセージ | 転送されたメッセージ | forwarded mail
    """
)
FORWARD_SUBJECT = re.compile(
    r"\A\s*(?:fwd?|wg|tr|rv|i|vs|doorst|enc|pd|fs|vb|пересл|转发|轉寄|転送)\s*(?:\[\d+\])?\s*[:：]", re.IGNORECASE
)


def _any(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(w).replace("'", "['’]") for w in sorted(set(words), key=len, reverse=True))


FORWARD_MARK = re.compile(rf"\A[\s\-—–_*>]*(?:{_any(_FORWARDED)})\s*[:：]?[\s\-—–_*]*\Z", re.IGNORECASE)
ORIGINAL_MARK = re.compile(
    rf"\A\s*[\-—–_*]{{2,}}\s*(?:{_any(_ORIGINAL)})\s*[:：]?\s*[\-—–_*]{{2,}}\s*\Z", re.IGNORECASE
)

ATTRIBUTION = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"\A\W*on\b.{6,}\bwrote\s*:\Z",
        r"\A\W*.{4,}\bwrote\s*:\Z",
        r"\A\W*am\b.{6,}\bschrieb\b.*:\Z",
        r"\A\W*.{4,}\b(?:schrieb|hat geschrieben)\b.*:\Z",
        r"\A\W*le\b.{6,}\ba\s+écrit\s*:\Z",
        r"\A\W*el\b.{6,}\bescribi[óo]\s*:\Z",
        r"\A\W*(?:il|il giorno|in data)\b.{6,}\bha\s+scritto\s*:\Z",
        r"\A\W*op\b.{6,}\b(?:schreef|het volgende geschreven)\b.*:\Z",
        r"\A\W*(?:den|på)?\s*.{6,}\b(?:skrev|skrifaði)\b.*:\Z",
        r"\A\W*(?:em|a)\b.{6,}\bescreveu\s*:\Z",
        r"\A\W*(?:w dniu|dnia)\b.{6,}\b(?:napisał(?:a|\(a\)|/a)?|pisze)\s*:\Z",
        r"\A\W*.{6,}\bnapisał(?:a|\(a\))?\s*:\Z",
        r"\A\W*dne\b.{6,}\bnapsal(?:a|\(a\))?\s*:\Z",
        r"\A\W*.{6,}(?:написал(?:а|\(а\))?|пишет)\s*:\Z",
        r"\A\W*.{6,}(?:写道|寫道|写到)\s*[:：]\Z",
        r"\A\W*.{6,}(?:のメッセージ|さんは書きました|が書きました|wrote|のメール)\s*[:：]\Z",
        r"\A\W*.{6,}(?:님이 작성)\s*[:：]\Z",
    )
)
"""How the line before a quote ends, after its wrapped lines were joined."""

SENT_FROM = re.compile(
    r"\A\s*(?:"
    r"sent (?:from|with|via) (?:my |a |the )?\S.{0,60}|get outlook for (?:ios|android).{0,60}"
    r"|(?:von|gesendet) (?:von |mit )?(?:meinem|mein|der|outlook).{0,60}|diese nachricht wurde von .{1,60} gesendet\.?"
    r"|envoyé (?:de|depuis|à partir).{0,60}|enviado (?:desde|do|de|a partir).{0,60}|inviato (?:da|dal).{0,60}"
    r"|verzonden (?:vanaf|van|met).{0,60}|verstuurd vanaf.{0,60}|sendt fra .{0,60}|skickat från .{0,60}"
    r"|wysłane z .{0,60}|odesláno z .{0,60}|отправлено (?:с|из) .{0,60}|发自我的.{0,40}|從我的.{0,40}|.{0,20}から送信"
    r")\s*\Z",
    re.IGNORECASE,
)
