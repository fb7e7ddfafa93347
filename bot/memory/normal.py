"""One form for words that read alike: what tombstones, subject keys and duplicates are compared by. Pure.

`normal` is for comparing, never for showing: case, accents, punctuation, invisible characters and letters of other
scripts that look like Latin ones make no difference in it (in the spirit of the skeleton of Unicode's UTS 39, with the
look-alikes that a reader of Latin script would take for the letter itself).
"""

from __future__ import annotations

import unicodedata

_PAIRS = (
    # Cyrillic, both cases on their own: the capital of one letter may look like another one's.
    ("АВЕЅІЈКМНОРСТУХҮԌԚԜӀҺ", "ABESIJKMHOPCTYXYGQWlh"),
    ("аеѕіјокрсухүԁһӏԛԝѵьмнт", "aesijokpcyxydhlqwvbmht"),
    ("в", "b"),
    # Greek
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ", "ABEZHIKMNOPTYXCj"),
    ("αβγεηικνορτυχϲ", "abyeniKvoptuxc"),
    # Armenian
    ("օոսհցկ", "onuhgk"),
    # Cherokee
    ("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏎᏙᏚᏞᏟᏢᏦᏴ", "DRTAJEWMHGZ4VSLCPKB"),
    # small capitals and Latin letters that do not decompose
    ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    ("łøđħŧıɑɡƅȷɩɫƖǀ", "lodhtiagbjlllL"),
    ("ŁØĐĦŦ", "LODHT"),
)
_LETTERS = {ord(odd): plain for odds, plains in _PAIRS for odd, plain in zip(odds, plains, strict=True)}
_LETTERS |= {0x1F150 + n: chr(ord("A") + n) for n in range(26)}  # negative circled
_LETTERS |= {0x1F170 + n: chr(ord("A") + n) for n in range(26)}  # negative squared
_LETTERS |= {0x1F1E6 + n: chr(ord("A") + n) for n in range(26)}  # regional indicators

_ALIKE = str.maketrans({"1": "l", "i": "l", "|": "l", "0": "o"})
"""Within Latin itself: a small L, a capital i, a one and a bar; a zero and an O."""

_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5")
"""Letters and symbols by category, invisible to the eye."""

_KEPT = frozenset("%‰")


def invisible(character: str) -> bool:
    """Whether it is a format character, a control other than white space, or a blank that counts as a letter."""
    if character.isspace():
        return False
    return character in _BLANK or unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn")


def plain(text: str) -> str:
    """NFKC without invisible characters, white space collapsed. It still reads as it was written."""
    shown = "".join(character for character in text if not invisible(character))
    return " ".join(unicodedata.normalize("NFKC", shown).split())


def normal(text: str) -> str:
    """Lower case words with single spaces, without accents, punctuation, invisible characters and look-alikes. Signs of
    currencies and percent stay."""
    spread = unicodedata.normalize("NFKD", plain(text)).translate(_LETTERS)
    folded = unicodedata.normalize("NFKD", spread.casefold()).translate(_LETTERS).casefold().translate(_ALIKE)
    return " ".join("".join(each for each in folded if _counts(each)).split())


def solid(text: str) -> str:
    """`normal` without its spaces: letters set apart, or words run together, make no difference either."""
    return normal(text).replace(" ", "")


def _counts(character: str) -> bool:
    if character.isspace() or character in _KEPT:
        return True
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Sc"
