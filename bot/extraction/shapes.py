"""What a clause is about, by the shape of a few common sentences: "Atlas launches on 9 June", "Nora owns Atlas", "412
people work on Atlas", "we raised the budget for Atlas to 20k", "sell Atlas at 19 euros". Pure.

The same thing said in another shape has the same key, so that a later sentence takes the place of an earlier one.
"""

from __future__ import annotations

import re
from datetime import datetime

from bot.extraction import dates, topics
from bot.extraction.subjects import key

_NAME = r"(?:the |our |die |der |das )?(?P<thing>(?-i:[A-ZÄÖÜ])[\w&’'-]*(?: (?-i:[A-ZÄÖÜ])[\w&’'-]*){0,3})"
_PERSON = r"(?-i:[A-ZÄÖÜ])[\w’'-]+(?: (?-i:[A-ZÄÖÜ])[\w’'-]+){0,2}"
_NOW = r"(?:now |currently |officially |still |jetzt |nun )?"
_END = r"(?:,? (?:from now on|now|instead|for now|ab (?:jetzt|sofort)|jetzt))?[.!]*$"


def _form(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_LAUNCHES = _form(
    rf"^{_NAME} {_NOW}(?:launches|goes live|ships|is (?:launched|released)|startet|launcht) (?P<rest>.+)$"
)
_TAKES_PLACE = _form(
    rf"^{_NAME} {_NOW}(?:takes place|happens|is held|will be held|will take place|findet) (?P<rest>.+?)"
    rf"(?: statt)?{_END}"
)
_OWNS = _form(
    rf"^(?:{_PERSON}|i|ich) (?:is |am |ist |bin |will be )?{_NOW}(?:owns|own|leads|lead|heads|runs|manages|in charge of"
    rf"|responsible for|the owner of|verantwortet|leitet|verantwortlich für|zuständig für) {_NAME}"
    rf"(?:, not [\w’' -]+)?{_END}"
)
_WORK_ON = _form(
    r"^(?:about |around |now )?\d[\d.,]* (?:people|persons|employees|leute|personen) (?:are |now )*"
    rf"(?:work|working|arbeiten) (?:on|for|at|an) {_NAME}(?:, not [\w., ]+)?{_END}"
)
_CHANGED = _form(
    r"^(?:we|i|wir)(?:[’']ve| have| haben)? (?:just |now )?(?:raised|increased|lifted|cut|lowered|reduced|changed|set"
    r"|switched|moved|shifted|postponed|extended|updated|adjusted|brought forward|pushed(?: back)?|delayed|fixed) "
    r"(?P<what>.+?) (?:back )?(?:from .+? )?to (?P<to>.+?)(?:, not [\w., ]+)?[.!]*$"
)
_SELL = _form(rf"^(?:to )?(?:sell|price|offer) {_NAME} (?:at|for) (?P<rest>.*\d.*)$")
_HOLD = _form(rf"^(?:to )?(?:hold|host|run|organi[sz]e|do) {_NAME} (?:in|at) (?P<rest>(?-i:[A-ZÄÖÜ]).*)$")
_OF_FOR = _form(
    rf"^(?:on |for )?(?:an? |the )?(?P<what>[a-z][\w -]{{2,30}}?) of (?P<rest>.+?) (?:for|on) {_NAME}[.!]*$"
)
_GETS = _form(
    rf"^{_NAME} (?:gets|has|receives|is given|bekommt|hat) an? (?P<what>[a-z][\w -]{{2,30}}?) of (?P<rest>.+)$"
)
_COSTS = _form(rf"^{_NAME} {_NOW}(?:costs?|kostet|kosten) (?P<rest>.*\d.*)$")


def fact(text: str, at: datetime, zone: str) -> str | None:
    """The key of what a plain clause tells; None if it has none of these shapes."""
    if (match := _LAUNCHES.match(text)) and _is_day(match["rest"], at, zone):
        return key(match["thing"], "launch date")
    if match := _TAKES_PLACE.match(text):
        return key(match["thing"], "date" if _is_day(match["rest"], at, zone) else "venue")
    if match := _OWNS.match(text):
        return key(match["thing"], "owner")
    if match := _WORK_ON.match(text):
        return key(match["thing"], "headcount")
    if match := _COSTS.match(text):
        return key(match["thing"], "price")
    return None


def decision(text: str, at: datetime, zone: str) -> str | None:
    """The key of what was decided, without "we decided to"."""
    if match := _SELL.match(text):
        return key(match["thing"], "price")
    if match := _HOLD.match(text):
        return key(match["thing"], "venue")
    for form in (_OF_FOR, _GETS):
        if match := form.match(text):
            return key(match["thing"], match["what"])
    return fact(text, at, zone)


def changed(text: str, at: datetime, zone: str) -> str | None:
    """The key of what "we moved … to …" tells, done already: a decision of its own."""
    match = _CHANGED.match(text)
    if match is None:
        return None
    what, to = match["what"], match["to"]
    named = re.fullmatch(_NAME, what)
    if named is not None:
        if _is_day(f"on {to}", at, zone):
            return key(named["thing"], "date")
        return key(named["thing"], "venue") if to[:1].isupper() else None
    found = topics.of_timed(what) if _is_day(f"on {to}", at, zone) else topics.of_noun(what)
    return found if found is not None and re.search(r"\d|[A-ZÄÖÜ]", to) else None


def _is_day(text: str, at: datetime, zone: str) -> bool:
    return bool(dates.find(text, at, zone))
