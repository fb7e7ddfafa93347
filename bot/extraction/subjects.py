"""Subject keys: what a claim is about, as `entity/attribute`, so that what is said of the same thing meets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.llm.lexical import terms
from bot.memory.normal import plain

COMPANY = "company"
"""The entity of what is the company's own, or of nothing that is named."""
LONGEST = 80

_KEEP = re.compile(r"[^\w&+.' -]+")


def key(entity: str, attribute: str) -> str:
    """The key of an entity and an attribute as they were written."""
    return f"{part(entity) or COMPANY}/{part(attribute) or 'state'}"


def part(text: str) -> str:
    bare = _KEEP.sub(" ", plain(text).casefold().replace("’", "'").replace("/", " "))
    bare = re.sub(r"'s\b|(?<=s)'(?=\s|$)", "", bare)
    words = [word.strip(".'-") for word in bare.split()]
    kept = [word for word in words if word and word not in _ARTICLES]
    return " ".join(kept)[:LONGEST].strip()


def given(text: str) -> str | None:
    """A key as a model gave it, put into form; None if it is none."""
    entity, slash, attribute = text.partition("/")
    if not slash or not part(entity) or not part(attribute):
        return None
    return key(entity, attribute)


def fits(subject: str, words: str) -> bool:
    """Whether any word of the key stands in the words: a key from nowhere is not taken."""
    wanted = {term for term in terms(subject.replace("/", " ")) if term != COMPANY}
    return not wanted or bool(wanted & set(terms(words)))


def same(subject: str, known: Iterable[str]) -> str | None:
    """The known key that means the same: equal, or told apart only by words of no weight, by their order or by where
    the entity ends and the attribute begins."""
    offered = list(dict.fromkeys(known))
    if subject in offered:
        return subject
    wanted = _weight(subject)
    return next((each for each in offered if wanted and _weight(each) == wanted), None)


def of_attribute(attribute: str, known: Iterable[str]) -> str | None:
    """The one known key with this attribute, if it is the only one."""
    found = {each for each in known if each.partition("/")[2] == attribute}
    return found.pop() if len(found) == 1 else None


def made_of(statement: str) -> str:
    """A key for a statement of which nothing better is known: its first words that carry meaning."""
    words = weighty(statement)
    return key(words[0] if words else COMPANY, " ".join(words[1:4]))


def weighty(text: str) -> list[str]:
    """The words that carry meaning, as they are written; numbers left out."""
    return [word for word in re.findall(r"[^\W\d_][\w-]*", text) if terms(word)]


def _weight(subject: str) -> frozenset[str]:
    return frozenset(terms(subject.replace("/", " "))) - _LIGHT


_ARTICLE_WORDS = """
    the a an our my your their its his her this that these those der die das den dem des ein eine einen unser unsere
    unseren mein meine
"""
_ARTICLES = frozenset(_ARTICLE_WORDS.split())
_LIGHT_WORDS = "company project initiat program programm projekt plan current new total overall"
_LIGHT = frozenset(_LIGHT_WORDS.split())
