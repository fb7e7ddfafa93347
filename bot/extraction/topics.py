"""What a clause is about: subject keys of noun and verb phrases, English first, common German forms too. Pure.

Two sentences about one thing should meet in one key ("the budget for Aurora is 20k", "Aurora's budget is now 25k", "we
cut the Aurora budget to 15k"), two about different things should not. Values, dates, numbers and negations are no
part of a key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from bot.extraction import dates
from bot.extraction.subjects import COMPANY, key, part
from bot.llm.lexical import terms

LONGEST = 8
"""Words of a noun phrase; a longer one is no subject."""

_DETERMINER = re.compile(
    r"^(?:(?:the|a|an|our|this|that|all|new|current|total|overall|final|der|die|das|den|dem|des|ein|eine|einen"
    r"|unser(?:e[nrms]?)?"
    r"|neue[nrs]?|aktuelle[nrs]?)\s+)+",
    re.IGNORECASE,
)
_OF = re.compile(
    r"^(?P<what>.+?)\s+(?:for|of|in|at|with|für|von|vom|beim|bei|des|der)\s+(?:(?:the|our|a|an|das|die|der|den|dem"
    r"|unser\w*)\s+)?"
    r"(?P<whose>.+)$",
    re.IGNORECASE,
)
_OWNS = re.compile(r"^(?P<whose>.+?)[’']s?\s+(?P<what>\S.*)$")
_THING = re.compile(r"^(?:project|programme|program|initiative|projekt|initiative)\s+(?P<name>.+)$", re.IGNORECASE)
_THING_AFTER = re.compile(r"^(?P<name>.+?)[\s-]+(?:project|programme|program|initiative|projekt)$", re.IGNORECASE)
_GERMAN = re.compile(
    r"\b(?:der|die|das|den|dem|des|ein|eine|einen|ist|sind|wird|werden|und|wir|ich|unser\w*|für|von|bis|ab|nicht"
    r"|kein\w*|auf"
    r"|bei|liegt|beträgt|haben|hat)\b",
    re.IGNORECASE,
)

_ATTRIBUTE_WORDS = """
    address agenda area bank budget burn capacity ceo cfo cmo competitor contact contract coo cost costs cto
    customer date deadline discount employees fee focus forecast goal growth guarantee head headcount hours launch
    lead lease limit location logo manager margin market meeting motto name number office owner partner plan price
    pricing provider rate release rent revenue role runway salary segment size slogan staff start status strategy
    supplier target team term terms theme time tool topic valuation vendor venue version volume warranty website
    frist ziel preis kosten umsatz miete standort büro kunde lieferant termin name start anbieter team
"""
_ATTRIBUTES = frozenset(_ATTRIBUTE_WORDS.split())
_STAFF = ("employees", "people", "staff", "colleagues", "mitarbeiter", "mitarbeiterinnen", "angestellte")
_TIMED_WORDS = """
    launch release start opening go-live golive kickoff kick-off meeting workshop offsite retreat review audit
    closing conference event deadline demo fair announcement rollout roll-out migration move launchtermin start
    eröffnung messe
"""
_TIMED = frozenset(_TIMED_WORDS.split())
"""What takes place on a day: "the launch is in May" tells its date."""

_CHOICE = re.compile(
    r"^(?:use|go(?:ing)?(?: ahead)? with|choose|pick|select|adopt|take|opt for|settle on|stick with|stay with"
    r"|stick to"
    r"|switch to|change to|sign with|work with|partner with|rely on|standardi[sz]e on|run on|build on|host on"
    r"|deploy on"
    r"|nehmen|verwenden|nutzen|setzen auf|entscheiden uns für|wählen|wechseln zu|bleiben bei"
    r"|arbeiten mit)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_MOVE = re.compile(
    r"^(?:move|shift|postpone|push(?: back)?|delay|bring forward|reschedule|pull forward|verschieben"
    r"|verlegen)\s+(?P<what>.+?)"
    r"\s+(?:back\s+|forward\s+)?(?:from\s+.+?\s+)?(?:to|until|into|by|auf|in)\s+(?P<to>.+)$",
    re.IGNORECASE,
)
_SET = re.compile(
    r"^(?:set|raise|cut|increase|lower|reduce|keep|cap|limit|fix|drop|double|halve|bring|hold|put|price|change"
    r"|extend|shorten"
    r"|senken|erhöhen|setzen|begrenzen|kürzen|halten)\s+(?P<what>.+?)\s+(?:from\s+.+?\s+)?(?:to|at|by|on|auf|um"
    r"|bei)\s+(?P<to>.+)$",
    re.IGNORECASE,
)
_HAPPEN = re.compile(
    r"^(?P<verb>launch|ship|release|go live|open|publish|announce|roll out|start|close|kick off|migrate|starten"
    r"|launchen"
    r"|veröffentlichen|eröffnen)(?:\s+(?P<what>.+))?$",
    re.IGNORECASE,
)
_STOPS = re.compile(
    r"\s+(?:because|since|so that|as|due to|in order to|given|but|instead|rather than|after|before|by|until|till"
    r"|from|starting"
    r"|weil|da|damit|denn|aber|statt|anstatt|bis|ab)\b.*$|[,;:(–—].*$",
    re.IGNORECASE,
)


def of_noun(phrase: str, speaker: str = "") -> str | None:
    """The key of a noun phrase; None if it is none that anything can be said of."""
    bare = phrase.strip(" .,:;!–—-\"“”'")
    mine = re.match(r"^(?:my|mein(?:e[nrms]?)?)\s+(?P<rest>.+)$", bare, re.IGNORECASE)
    if mine is not None:
        return key(speaker or "speaker", mine["rest"])
    ours = re.match(r"^(?:our|unser(?:e[nrms]?)?)\b", bare, re.IGNORECASE) is not None
    german = bool(_GERMAN.search(bare))
    bare = _DETERMINER.sub("", bare)
    if not bare or len(bare.split()) > LONGEST:
        return None
    owned = _OWNS.match(bare)
    if owned is not None:
        return key(named(owned["whose"]), _attribute(owned["what"]))
    of = _OF.match(bare)
    if of is not None and not of["what"].lower().endswith(("number", "head")):
        return _of(of["what"], of["whose"], ours=ours)
    if of is not None:
        return key(COMPANY, f"{of['what']} {of['whose']}")
    thing = _THING.match(bare) or _THING_AFTER.match(bare)
    if thing is not None and thing["name"][:1].isupper():
        return key(thing["name"], "project")
    return _compound(bare, german=german)


def _of(what: str, whose: str, *, ours: bool) -> str:
    name = named(whose)
    if part(name) in ("company", "us", "uns", "firma", "business"):
        return key(COMPANY, _attribute(what))
    if ours and not any(each[:1].isupper() for each in whose.split()) and part(what) not in _ATTRIBUTES:
        return key(COMPANY, f"{what} {whose}")
    return key(name, _attribute(what))


def named(phrase: str) -> str:
    bare = _DETERMINER.sub("", phrase.strip())
    thing = _THING.match(bare) or _THING_AFTER.match(bare)
    return thing["name"] if thing is not None else bare


def _attribute(phrase: str) -> str:
    bare = part(_DETERMINER.sub("", phrase.strip()))
    return {"costs": "cost", "pricing": "price", "launch": "launch date", **dict.fromkeys(_STAFF, "headcount")}.get(
        bare, bare
    )


def _compound(bare: str, *, german: bool) -> str:
    """A name before a common noun is what the noun belongs to; without a name it is the company's own."""
    words = bare.replace("-", " ").split() if re.match(r"^[A-ZÄÖÜ][\w]*-[A-ZÄÖÜa-z]", bare) else bare.split()
    names = 0
    for number, word in enumerate(words):
        if not word[:1].isupper() or (word.lower() in _ATTRIBUTES and (number > 0 or len(words) == 1)):
            break
        if german and number > 0:
            break
        names += 1
    if names and names == len(words):
        if len(words) > 1 and words[-1].lower() in _ATTRIBUTES | _TIMED:
            return key(" ".join(words[:-1]), _attribute(words[-1]))
        return key(bare, "state")
    first_only = names == 1 and words[0].lower() in _ATTRIBUTES | _TIMED
    if names and not first_only and not german:
        return key(" ".join(words[:names]), _attribute(" ".join(words[names:])))
    if len(words) > 1 and names and "-" in bare:
        return key(" ".join(words[:-1]), _attribute(words[-1]))
    return key(COMPANY, _attribute(bare))


def of_timed(phrase: str, speaker: str = "") -> str | None:
    """The key of something that is said to be on a day."""
    found = of_noun(phrase, speaker)
    if found is None:
        return None
    entity, _, attribute = found.partition("/")
    if attribute.endswith("date") or attribute == "deadline":
        return found
    if attribute == "state":
        return key(entity, "date")
    if attribute.split()[-1] in _TIMED:
        return key(entity, f"{attribute} date")
    return key(entity, f"{attribute} date") if entity == COMPANY else found


def of_verb(phrase: str, at: datetime, zone: str) -> str:
    """The key of what is decided or done: a verb phrase without its subject."""
    bare = re.sub(
        r"^(?:(?:not|never|no longer|nicht|to|zu|now|also|instead|just)\s+)+", "", phrase.strip(), flags=re.IGNORECASE
    )
    bare = bare.rstrip(" .!")
    chosen = _CHOICE.match(bare)
    if chosen is not None:
        return _choice(chosen["what"], at, zone)
    moved = _MOVE.match(bare)
    if moved is not None and any(when.start <= 1 for when in dates.find(f"on {moved['to']}", at, zone)):
        return of_timed(moved["what"]) or _plainly(bare, at, zone)
    if moved is not None and bare.lower().startswith(("move ", "verlegen ")):
        return of_noun(moved["what"]) or _plainly(bare, at, zone)
    put = _SET.match(bare)
    if put is not None:
        found = of_noun(put["what"])
        if found is not None:
            return found
    happens = _HAPPEN.match(undated(bare, at, zone).strip())
    if happens is not None and undated(bare, at, zone).strip() != bare:
        what = re.sub(r"^(?:in|at|auf)\s+", "", _STOPS.sub("", happens["what"] or "").strip())
        verb = {"go live": "launch", "ship": "launch", "release": "launch", "starten": "launch", "launchen": "launch"}
        attribute = f"{verb.get(happens['verb'].lower(), happens['verb'].lower())} date"
        if not what:
            return key(COMPANY, attribute)
        entity = (of_noun(what) or "").partition("/")
        return key(entity[0] if entity[2] in ("state", "project") else f"{part(what)}", attribute)
    return _plainly(bare, at, zone)


def _choice(what: str, at: datetime, zone: str) -> str:
    bare = undated(_STOPS.sub("", what) if " as " not in what.lower() else what, at, zone).strip(" .")
    role = re.match(
        r"^.+?\s+(?:as|als)\s+(?:(?:the|our|a|an|unser\w*|neue\w*|new)\s+)*(?P<role>.+)$", bare, re.IGNORECASE
    )
    if role is not None:
        return of_noun(role["role"]) or key(COMPANY, role["role"])
    purpose = re.match(r"^.+?\s+(?:for|für|zum|zur)\s+(?P<what>.+)$", bare, re.IGNORECASE)
    if purpose is not None:
        return key(named(purpose["what"]), "choice")
    common = [word for word in _DETERMINER.sub("", bare).split() if word.islower() and word.isalpha()]
    if common and any(not word.islower() for word in bare.split()):
        return key(COMPANY, f"{' '.join(common)} choice")
    return key(bare, "choice")


def _plainly(bare: str, at: datetime, zone: str) -> str:
    """Verb and object, in the words' own order, without what changes: numbers, dates, places to go to."""
    head = undated(_STOPS.sub("", bare), at, zone)
    of = re.match(r"^(?P<what>.+?)\s+(?:for|für)\s+(?:(?:the|our|a|an)\s+)?(?P<whose>[A-ZÄÖÜ].*)$", head)
    head, whose = (of["what"], of["whose"]) if of is not None else (head, COMPANY)
    head = re.split(r"\s+(?:to|into|with|nach|an)\s+", head, maxsplit=1, flags=re.IGNORECASE)[0]
    words = [word for word in re.findall(r"[\w&’'-]+", head) if not any(map(str.isdigit, word))]
    kept = [word for word in words if word.lower() not in _FILLERS][:6]
    return key(named(whose), " ".join(kept) or "decision")


_FILLER_WORDS = """
    the a an our my his her their its new more additional another some any two three four five six seven eight nine
    ten one only just also now first second der die das den ein eine einen unser unsere unseren zwei drei vier fünf
    neue neuen zusätzliche not never no nicht nie niemals kein keine keinen keiner keinem
"""
_FILLERS = frozenset(_FILLER_WORDS.split())


def undated(text: str, at: datetime, zone: str) -> str:
    for when in reversed(dates.find(text, at, zone)):
        text = f"{text[: when.start].rstrip()} {text[when.end :].lstrip()}"
    return text.strip()


def nearest(phrase: str, offered: Sequence[tuple[str, str]]) -> str | None:
    """Of the offered (key, words): the one whose words hold all that the phrase names, the newest of equal ones."""
    wanted = set(terms(phrase)) - _NOTHING
    found = [(len(wanted & set(terms(words))), number, name) for number, (name, words) in enumerate(offered)]
    best = max(found, default=None)
    return best[2] if best is not None and wanted and best[0] == len(wanted) else None


_NOTHING_WORDS = "project initiativ projekt task thing work job now new"
_NOTHING = frozenset(_NOTHING_WORDS.split())
