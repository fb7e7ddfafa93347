"""What always waits for a person, by what its words are about. Pure; English and German.

These are shapes of words, not an understanding of them. They err towards waiting: a person's yes costs little, an
account number that was remembered by itself may cost a lot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.kernel.logs import Redactor
from bot.memory.model import Held
from bot.memory.normal import plain

_ALWAYS = (
    r"(?:always|from now on|in future|going forward|henceforth|every time|each time|whenever|any time|automatically"
    r"|immer|ab jetzt|ab sofort|künftig|in zukunft|jedes mal|automatisch)"
)
_SENDING = r"(?:send|forward|cc|bcc|copy|mail|e-?mail|share|route|redirect|deliver|weiterleit\w*|schick\w*|send\w*)"
_PAYING = (
    r"(?:pay|pays|paid|paying|wire|wires|wired|remit|refund|reimburse|transfer(?:red|s)?|überweis\w*|bezahl\w*"
    r"|zahl\w*"
    r"|auszahl\w*)"
)
_MONEY = r"(?:[€$£¥]|\b(?:eur|usd|gbp|chf|euros?|dollars?|pounds?|francs?)\b|\bmoney\b|\bfunds\b|\bgeld\b)"

_SHAPES: Mapping[Held, tuple[str, ...]] = {
    Held.SECRET: (
        (
            r"\b(?:password|passphrase|passcode|passwort|kennwort|secret key|private key|api[ -]?key|access token"
            r"|auth token"
            r"|credentials?|zugangsdaten|pin code|pin-code|recovery code|seed phrase|one-time code|einmalcode)\b"
            r"(?=.{0,30}(?:\bis\b|\bare\b|\bist\b|\blautet\b|[:=]))"
        ),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        (
            r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\beyJ[\w-]{10,}\.[\w-]{10,}|\bsk-[\w-]{16,}"
            r"|\bglpat-[\w-]{16,}|\bAIza[\w-]{30,}"
        ),
        r"(?<![\w-])(?=[\w+/=-]{24,}(?![\w-]))(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])[\w+/=-]{24,}",
    ),
    Held.PAYMENT: (
        r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b",  # IBAN
        (
            r"\b(?:iban|bic|swift(?: code)?|sort code|routing number|account (?:number|no\.?|details)|bank (?:details"
            r"|account"
            r"|data)|new account|kontonummer|bankverbindung|kontodaten|bankkonto|neues konto|bankleitzahl|payee|paypal"
            r"|wallet|bitcoin|crypto|gift cards?|gutschein\w*|zahlungsempfänger)\b"
        ),
        r"\b(?:\d[ -]?){15,16}\b",
        rf"\b{_PAYING}\b.{{0,60}}(?:{_MONEY}|\d)|(?:{_MONEY}).{{0,40}}\b{_PAYING}\b",
        (
            rf"\b{_PAYING}\b.{{0,40}}\b(?:to|an|into|auf)\b|\b(?:invoices?|bills?|rechnung\w*)\b.{{0,60}}\b{_PAYING}\b"
            rf"|\b{_PAYING}\b.{{0,60}}\b(?:invoices?|bills?|rechnung\w*|suppliers?|vendors?|lieferant\w*)\b"
        ),
        (
            r"\bpayments?\b.{0,30}\b(?:go|goes|to be made|should|must|are made|is made|to)\b.{0,30}\b(?:to|account"
            r"|into)\b"
        ),
    ),
    Held.RECIPIENT: (
        r"[\w.+-]+@[\w-]+\.[\w.-]*\w",
        r"\b(?:https?://|www\.)\S+",
        r"(?<![\w.-])(?:\+\d|\(?0\d)[\d ()/-]{6,}\d",
        rf"\b{_ALWAYS}\b.{{0,60}}\b{_SENDING}\b|\b{_SENDING}\b.{{0,60}}\b{_ALWAYS}\b",
        rf"\b{_SENDING}\b.{{0,30}}\b(?:all|every|any|each|everything|alle\w*|jede\w*)\b",
        r"\b(?:new|neue)\b.{0,20}\b(?:address|e-?mail address|phone number|number|adresse|telefonnummer)\b",
        (
            r"\b(?:reports?|invoices?|copies|documents|contracts|rechnungen|berichte|verträge)\b.{0,30}\b(?:go|goes"
            r"|are sent"
            r"|must be sent|should be sent|to be sent|gehen)\b.{0,10}\b(?:to|an)\b"
        ),
    ),
    Held.AUTHORITY: (
        (
            r"\b(?:may|can|is allowed to|are allowed to|is authori[sz]ed to|has (?:the )?(?:authority|power|right"
            r"|permission) to"
            r"|is entitled to|is empowered to|darf|dürfen|ist befugt|ist berechtigt|kann)\b.{0,30}\b(?:approve|sign"
            r"|decide"
            r"|authori[sz]e|instruct|order|release|hire|fire|spend|commit|delegate|override|grant|genehmig\w*"
            r"|unterschreib\w*"
            r"|unterzeichn\w*|entscheid\w*|freigeb\w*|anweis\w*|beauftrag\w*)\b"
        ),
        (
            r"\b(?:approval|sign-?off|permission|consent|genehmigung|freigabe|zustimmung)\b.{0,30}\b(?:is|are"
            r"|no longer|not)\b"
            r".{0,20}\b(?:needed|required|necessary|nötig|erforderlich|notwendig)\b"
        ),
        (
            r"\b(?:needs?|requires?|braucht|brauchen)\b.{0,10}\b(?:no|kein\w*)\b.{0,10}\b(?:approval|permission|sign-?off"
            r"|confirmation|genehmigung|freigabe)\b"
        ),
        (
            r"\bwithout\b.{0,20}\b(?:approval|asking|confirmation|sign-?off|permission|checking|review)\b"
            r"|\bohne\b.{0,20}\b(?:genehmigung|freigabe|rückfrage|zustimmung|prüfung)\b"
        ),
        (
            r"\b(?:speaks?|acts?|signs?|decides?) (?:for|on behalf of)\b"
            r"|\bon behalf of the (?:company|board|principal)\b"
            r"|\bim namen der\b"
        ),
        (
            r"\b(?:new|acting|interim|neue[rn]?)\b.{0,12}\b(?:principal|ceo|cfo|coo|managing director|admin\w*"
            r"|owner of the"
            r" company|geschäftsführer\w*|prokurist\w*)\b"
        ),
        (
            r"\b(?:is|are|becomes?|ist|wird)\b.{0,20}\b(?:the )?(?:principal|administrator|admin|approver|signatory"
            r"|prokurist\w*|geschäftsführer\w*)\b"
        ),
        (
            r"\b(?:power of attorney|signing authority|approval limit|spending limit|signature right\w*|vollmacht"
            r"|prokura"
            r"|unterschriftsberechtigung|zeichnungsberechtig\w*)\b"
        ),
        (
            r"\b(?:approves?|signs? off) (?:all|every|any|everything)\b|\b(?:obey|follow (?:all|every|his|her|their) "
            r"(?:orders|instructions))\b|\bgenehmigt alle\w*\b"
        ),
        (
            r"\b(?:instructions|orders|messages|requests|anweisungen)\b.{0,30}\b(?:from|by|von)\b.{0,40}\b(?:count"
            r"|override"
            r"|are to be|must be|have to be|trusted|followed|binding|valid|gelten)\b"
        ),
    ),
    Held.INSTRUCTION: (
        (
            r"\b(?:ignore|disregard|forget|override|bypass|circumvent|vergiss|ignoriere?"
            r"|missachte)\b.{0,40}\b(?:previous|prior"
            r"|above|earlier|all|any|your|instructions?|rules?|polic\w+|guidelines?|prompts?|safeguards?|vorherige\w*"
            r"|alle\w*"
            r"|anweisung\w*|regeln?)\b"
        ),
        r"\b(?:system|developer) (?:prompt|message|note|instruction)\b|\bsystemprompt\b|\bjailbreak\w*\b",
        r"(?:^|\n|[\[(<])\s*(?:system|assistant|user|developer|tool|human|executive)\s*[:>\])]",
        r"</?\s*[a-z_][\w-]*(?:\s[^<>]*)?/?>",
        (
            r"\b(?:you are now|you're now|act as|pretend (?:to|that)|role-?play|du bist (?:jetzt|nun|ab jetzt)"
            r"|tu so als)\b"
        ),
        (
            r"\b(?:assistant|ai|chatbot|bot|the executive|assistent|die ki)\b.{0,12}\b(?:must|should|shall|always|never"
            r"|has to|have to|is to|needs to|muss|soll|immer|niemals?)\b"
        ),
        (
            r"\b(?:do not|don[’']t|never|nicht|niemals|nie)\b.{0,15}\b(?:tell|mention|reveal|disclose|inform|notify"
            r"|verify"
            r"|check|question|ask|log|audit|report this|warn|sagen|erwähn\w*|verrat\w*|prüf\w*|fragen|informier\w*)\b"
        ),
        (
            r"\b(?:when|whenever|if|once|as soon as|every time|wenn|sobald|falls)\b.{0,60}\b(?:ask\w*|says?|mentions?"
            r"|writes?"
            r"|quer\w+|requests?|wants?|sends?|appears?|fragt|sagt|schreibt|erwähnt|will)\b.{0,60}\b(?:say|tell|reply"
            r"|answer"
            r"|respond|send|forward|approve|pay|call|run|execute|add|insert|use|give|recommend|treat|sag\w*|antwort\w*"
            r"|schick\w*|genehmig\w*|überweis\w*)\b"
        ),
        (
            r"\b(?:renew|refresh|repeat|copy|rewrite|re-?save|memori[sz]e|wiederhol\w*|erneuer\w*)\b.{0,25}\b(?:this|these"
            r"|note|memory|memories|instruction|rule|entry|diese\w*|notiz\w*|anweisung\w*|regel\w*)\b"
        ),
        (
            r"\b(?:in|to|at the end of|with) (?:every|each|all|any|your) (?:future |further |following )?(?:repl\w+"
            r"|answers?"
            r"|responses?|messages?|summar\w+|conversations?|prompts?)\b.{0,60}\b(?:include|add|append|insert|mention"
            r"|repeat"
            r"|say|state|link)\b|\b(?:include|add|append|insert|mention|repeat|say|state)\b.{0,60}\b(?:in|to"
            r"|at the end of"
            r"|with) (?:every|each|all|any|your) (?:future |further |following )?(?:repl\w+|answers?|responses?"
            r"|messages?|summar\w+|conversations?)\b"
        ),
        (
            rf"\b{_ALWAYS}\b.{{0,60}}\b(?:approve|accept|allow|trust|obey|execute|run|pay|transfer|grant|confirm|believe"
            r"|recommend|genehmig\w*|vertrau\w*|überweis\w*|erlaub\w*|empfiehl\w*)\b"
        ),
        (
            r"\b(?:auto-?approve|auto-?execute|run the (?:tool|command|script)|call the tool|execute (?:the|this)"
            r"|use the tool"
            r"|function call|tool call)\b"
        ),
        r"\b(?:trust|believe|vertrau\w*|glaub\w*)\b.{0,25}\b(?:all|everything|every|anything|any|alle\w*)\b",
        (
            r"\b(?:prefer|favou?r|promote|recommend|choose|bevorzug\w*|empfiehl\w*)\b.{0,40}\b(?:over all|in all"
            r"|in every|always"
            r"|whenever|immer|stets)\b|\b(?:confidential|secret|hidden|covert)\b.{0,20}\b(?:instruction|rule|order"
            r"|note)\b"
        ),
    ),
}
_ALL = {
    held: re.compile("|".join(f"(?:{shape})" for shape in shapes), re.IGNORECASE if held is not Held.SECRET else 0)
    for held, shapes in _SHAPES.items()
}
_NO_CASE = re.compile(_SHAPES[Held.SECRET][0], re.IGNORECASE)
_IBAN = re.compile(_SHAPES[Held.PAYMENT][0])
_ORDER = (Held.SECRET, Held.PAYMENT, Held.RECIPIENT, Held.AUTHORITY, Held.INSTRUCTION)
_REDACTOR = Redactor()


def reasons(*texts: str | None) -> tuple[Held, ...]:
    """Why these texts, taken together, wait for a person: in the order of `Held` that is worth reading."""
    whole = "\n".join(plain(text) for text in texts if text)
    return tuple(held for held in _ORDER if _is(held, whole))


def secret(text: str) -> bool:
    return Held.SECRET in reasons(text)


def _is(held: Held, text: str) -> bool:
    if held is Held.SECRET:
        return bool(_ALL[held].search(text) or _NO_CASE.search(text)) or _REDACTOR.clean(text) != text
    return any(_counts(held, match) for match in _ALL[held].finditer(text))


def _counts(held: Held, match: re.Match[str]) -> bool:
    """Without regard to case, three words of four letters look like an account number: one has to be written like
    one."""
    if held is Held.PAYMENT and re.fullmatch(_SHAPES[held][0], match[0], re.IGNORECASE):
        return bool(_IBAN.fullmatch(match[0])) or sum(map(str.isdigit, match[0])) >= 8
    return True
