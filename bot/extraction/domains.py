"""Which specialist's field a statement belongs to, by telling words of the built-in eight. Pure."""

from __future__ import annotations

import re

_WORDS = {
    "finance": r"runway|burn|budgets?|cash|revenue|margins?|profit|costs?|invoices?|forecast|valuation"
    r"|fundrais\w*|equity"
    r"|loan|tax\w*|auditors?|fiscal|umsatz|kosten|marge|gewinn|miete|rechnung\w*|steuer\w*|finanz\w*",
    "people": r"hir(?:e|es|ing|ed)|headcount|salar\w+|employees?|engineers? (?:in|for)|onboarding|vacation|holidays?"
    r"|performance review|notice period|four-day week|bonus\w*|mitarbeiter\w*|gehält\w*|gehalt|einstell\w*|urlaub\w*"
    r"|kündigungsfrist|personal\w*",
    "counsel": r"contracts?|lease|licen[cs]e\w*|patent\w*|trademark\w*|gdpr|privacy policy|compliance|lawsuit"
    r"|liabilit\w+"
    r"|nda|terms of service|vertrag\w*|datenschutz\w*|lizenz\w*|marke(?:nrecht)?|klage",
    "marketing": r"campaign\w*|brand\w*|advertis\w*|ads|newsletter|press release|fair|webinar\w*|social media"
    r"|rebranding"
    r"|slogan|logo|kampagne\w*|messe\w*|werbung|pressemitteilung",
    "product": r"launch\w*|roadmap|features?|release[sd]?|beta|backlog|app|api|onboarding flow|plan costs|pricing"
    r"|price of|ux|produkt\w*|preise?",
    "operations": r"hosting|suppliers?|warehouse\w*|logistics|office|support|servers?|monitoring|migration|procurement"
    r"|vendors?|laptops?|büro|lager|lieferant\w*|umzug",
    "board": r"board|shareholders?|dividends?|governance|cap table|aufsichtsrat|gesellschafter\w*|vorstand",
    "strategy": r"strateg\w+|competitors?|markets?|acquisition|merger|partnership\w*|expansion|vision|mission"
    r"|wettbewerb\w*|übernahme|markteintritt",
}
_FIELDS = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _WORDS.items()}


def of(text: str, known: frozenset[str]) -> str | None:
    """The field with most telling words; of equal ones, the one whose word comes first."""
    found = []
    for name, words in _FIELDS.items():
        places = [match.start() for match in words.finditer(text)]
        if places and name in known:
            found.append((-len(places), places[0], name))
    return min(found)[2] if found else None
