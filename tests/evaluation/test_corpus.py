"""The built-in notes and the questions asked of them: their form, their sums, and that neither copies the other."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import bot

CORPUS = Path(bot.__file__).parent / "knowledge" / "corpus"
QUESTIONS = Path(__file__).parent / "corpus_questions.jsonl"

DOMAINS = frozenset({"strategy", "finance", "people", "legal", "operations", "marketing", "product", "board"})
DEPARTMENTS = frozenset(
    {"leadership", "finance", "people", "legal", "operations", "marketing", "sales", "product", "engineering"}
    | {"support", "security", "it", "board"}
)
FIELDS = ["title", "domain", "departments", "keywords", "reviewed"]
HEADINGS = [
    "When this helps",
    "Key questions",
    "Method",
    "Worked example",
    "Pitfalls",
    "Where a professional must look",
]
LEAST_WORDS, MOST_WORDS = 350, 650
SHARED_BETWEEN_NOTES = 8
SHARED_WITH_QUESTION = 5

NUMBER = r"−?\d+(?:,\d{3})*(?:\.\d+)?[km%]?"
TERM = rf"\(*\s*{NUMBER}\s*\)*"
SUM = re.compile(rf"(?P<left>{TERM}(?:\s[+−×/]\s{TERM})+)\s(?P<sign>[=≈])\s(?P<right>{NUMBER})")
SCALE = {"k": 1_000.0, "m": 1_000_000.0, "%": 0.01}


@dataclass(frozen=True)
class Note:
    """One note: its id `domain/slug`, the raw front matter fields in order, and the text under each heading."""

    ref: str
    fields: tuple[tuple[str, str], ...]
    sections: tuple[tuple[str, str], ...]

    def field(self, name: str) -> str:
        return dict(self.fields)[name]

    def listed(self, name: str) -> list[str]:
        raw = self.field(name)
        assert raw.startswith("["), f"{self.ref}: {name} is not a list"
        assert raw.endswith("]"), f"{self.ref}: {name} is not a list"
        return [item.strip() for item in raw[1:-1].split(",")]

    @property
    def body(self) -> str:
        return "\n".join(text for _, text in self.sections)


@dataclass(frozen=True)
class Question:
    """One line of the question set; `lang` is empty for English."""

    text: str
    relevant: tuple[str, ...]
    domain: str
    lang: str


def parse(ref: str, text: str) -> Note:
    """A note's front matter and sections; fails on anything that is neither."""
    opening, front, rest = text.split("---\n", 2)
    assert opening == "", f"{ref}: something stands before the front matter"
    fields: list[tuple[str, str]] = []
    for line in front.splitlines():
        name, colon, value = line.partition(": ")
        assert colon, f"{ref}: front matter line without a value: {line!r}"
        assert ": " not in value, f"{ref}: a colon in {name} is not plain YAML"
        fields.append((name, value))
    before, *parts = re.split(r"^## ", rest, flags=re.MULTILINE)
    assert not before.strip(), f"{ref}: text before the first heading"
    sections: list[tuple[str, str]] = []
    for part in parts:
        heading, _, content = part.partition("\n")
        sections.append((heading, content.strip()))
    return Note(ref, tuple(fields), tuple(sections))


@cache
def notes() -> dict[str, Note]:
    """All notes by id."""
    found = {}
    for path in sorted(CORPUS.rglob("*.md")):
        ref = path.relative_to(CORPUS).with_suffix("").as_posix()
        found[ref] = parse(ref, path.read_text(encoding="utf-8"))
    return found


@cache
def questions() -> tuple[Question, ...]:
    """All questions in their order."""
    rows = []
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert set(row) - {"lang"} == {"question", "relevant", "domain"}, line
        rows.append(Question(row["question"], tuple(row["relevant"]), row["domain"], row.get("lang", "")))
    return tuple(rows)


def words(text: str) -> list[str]:
    """Lower-case words and numbers, punctuation dropped."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.lower())


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """Every run of `length` words in a text, over line and sentence ends."""
    found = words(text)
    return {tuple(found[start : start + length]) for start in range(len(found) - length + 1)}


def value(number: str) -> float:
    """`1,250` `3.5%` `40k` `2m` as a number."""
    sign = -1.0 if number.startswith("−") else 1.0
    plain = number.lstrip("−").replace(",", "")
    scale = SCALE.get(plain[-1], 1.0)
    return sign * float(plain.rstrip("km%")) * scale


def evaluate(left: str) -> float:
    """An expression of + − × / and brackets; multiplication binds first."""
    tokens = re.findall(rf"{NUMBER}|[+−×/()]", left)

    def expression() -> float:
        total = product()
        while tokens and tokens[0] in "+−":
            total = total + product() if tokens.pop(0) == "+" else total - product()
        return total

    def product() -> float:
        total = atom()
        while tokens and tokens[0] in "×/":
            total = total * atom() if tokens.pop(0) == "×" else total / atom()
        return total

    def atom() -> float:
        token = tokens.pop(0)
        if token != "(":
            return value(token)
        inner = expression()
        assert tokens.pop(0) == ")", left
        return inner

    result = expression()
    assert not tokens, f"not an expression: {left}"
    return result


def sums(text: str) -> Iterator[tuple[str, float, str, str]]:
    """Each written calculation: the words, what the left side gives, the sign, what the right side says.

    The one before an equals sign may itself be a result (`2 × 3 = 6`): chains are not read, each stands alone.
    """
    for match in SUM.finditer(" ".join(text.split())):
        left = match["left"]
        # A bracket that opened before the calculation, in the sentence, belongs to the sentence.
        while left.count(")") > left.count("(") and left.endswith(")"):
            left = left[:-1].rstrip()
        while left.count("(") > left.count(")") and left.startswith("("):
            left = left[1:].lstrip()
        yield match[0], evaluate(left), match["sign"], match["right"]


def last_digit(number: str) -> float:
    """The worth of the last digit written: 0.1 for `7.6`, 0.01 for `29%`, 1,000 for `40k`."""
    digits = number.rstrip("km%")
    return SCALE.get(number[-1], 1.0) * 10.0 ** -len(digits.partition(".")[2])


def right(result: float, sign: str, said: str) -> bool:
    """Whether a written result holds: `=` exactly, `≈` rounded at its last digit."""
    slack = last_digit(said) / 2 if sign == "≈" else 0.0
    return math.isclose(result, value(said), rel_tol=1e-9, abs_tol=slack + 1e-9)


def test_the_corpus_is_large_enough_and_covers_every_domain() -> None:
    assert len(notes()) >= 66
    per_domain = Counter(ref.partition("/")[0] for ref in notes())
    assert set(per_domain) == DOMAINS
    assert min(per_domain.values()) >= 5


@pytest.mark.parametrize("ref", sorted(notes()))
def test_a_note_has_its_fields_headings_and_length(ref: str) -> None:
    note = notes()[ref]
    assert re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", ref)
    assert [name for name, _ in note.fields] == FIELDS
    assert note.field("domain") == ref.partition("/")[0]
    assert note.field("reviewed") == "2026-11"
    assert set(note.listed("departments")) <= DEPARTMENTS
    keywords = note.listed("keywords")
    assert 8 <= len(keywords) <= 15
    assert len(set(keywords)) == len(keywords)
    assert [heading for heading, _ in note.sections] == HEADINGS
    assert all(len(words(text)) >= 15 for _, text in note.sections)
    assert LEAST_WORDS <= len(words(note.body)) <= MOST_WORDS


@pytest.mark.parametrize("ref", sorted(notes()))
def test_a_note_calculates_and_its_sums_are_right(ref: str) -> None:
    note = notes()[ref]
    assert list(sums(dict(note.sections)["Worked example"])), "no calculation in the worked example"
    wrong = [written for written, result, sign, said in sums(note.body) if not right(result, sign, said)]
    assert wrong == []


@pytest.mark.parametrize(
    ("written", "holds"),
    [
        ("2 + 3 × 4 = 14", True),
        ("(2 + 3) × 4 = 20", True),
        ("1,200 / 400 = 3", True),
        ("1,200 / 400 = 4", False),
        ("40k − 50k = −10k", True),
        ("1 / 3 ≈ 33%", True),
        ("1 / 3 = 33%", False),
        ("1 / 3 ≈ 34%", False),
        ("−8k + 65k = 57k", True),
        ("7 − 9 = −2", True),
        ("(a bracket of the sentence, 2 × 2 = 5)", False),
    ],
)
def test_the_check_of_sums_finds_wrong_ones(written: str, holds: bool) -> None:
    assert [right(result, sign, said) for _, result, sign, said in sums(written)] == [holds]


def test_titles_are_unique() -> None:
    titles = Counter(note.field("title").lower() for note in notes().values())
    assert [title for title, times in titles.items() if times > 1] == []


def test_no_two_notes_share_a_run_of_words() -> None:
    seen: dict[tuple[str, ...], str] = {}
    shared = []
    for ref, note in notes().items():
        for run in runs(note.body, SHARED_BETWEEN_NOTES):
            if run in seen:
                shared.append(f"{seen[run]} and {ref}: {' '.join(run)}")
            seen[run] = ref
    assert shared == []


def test_there_are_enough_questions_of_every_kind() -> None:
    assert len(questions()) >= 170
    texts = Counter(" ".join(words(question.text)) for question in questions())
    assert [text for text, times in texts.items() if times > 1] == []
    languages = Counter(question.lang for question in questions() if question.lang)
    assert set(languages) == {"de", "fr", "es"}
    assert languages.total() >= 20


def test_every_note_is_asked_for_at_least_twice_and_first_at_least_once() -> None:
    asked = Counter(ref for question in questions() for ref in question.relevant)
    first = Counter(question.relevant[0] for question in questions())
    assert sorted(ref for ref in notes() if asked[ref] < 2) == []
    assert sorted(ref for ref in notes() if not first[ref]) == []


@pytest.mark.parametrize("question", questions(), ids=lambda question: question.text[:48])
def test_a_question_points_at_notes_without_quoting_them(question: Question) -> None:
    assert 1 <= len(question.relevant) <= 3
    assert len(set(question.relevant)) == len(question.relevant)
    assert set(question.relevant) <= set(notes())
    assert question.domain == question.relevant[0].partition("/")[0]
    for ref in question.relevant:
        note = notes()[ref]
        whole = " ".join([note.field("title"), note.field("keywords"), note.body])
        assert runs(question.text, SHARED_WITH_QUESTION) & runs(whole, SHARED_WITH_QUESTION) == set()
        asked = f" {' '.join(words(question.text))} "
        phrases = [" ".join(words(keyword)) for keyword in note.listed("keywords")]
        assert [phrase for phrase in phrases if phrase.count(" ") >= 2 and f" {phrase} " in asked] == []
