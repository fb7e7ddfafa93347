"""The rules on sentences labelled by hand, and on corrections over several turns."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from bot.extraction import rules
from bot.extraction.model import Candidate, Known
from bot.kernel import days
from bot.memory.model import EXECUTIVE, Kind, Work
from tests.extraction.labelled import HELD_OUT, TUNED, Labelled
from tests.extraction.people import PEOPLE, Desk, heard


def read(text: str, speaker: str = "marta") -> list[Candidate]:
    return rules.candidates([heard(text, speaker)], Known(people=PEOPLE))


@pytest.mark.parametrize("labelled", TUNED, ids=lambda each: each.text)
def test_sentences_that_the_rules_were_written_for(labelled: Labelled) -> None:
    found = read(labelled.text)
    assert [each.kind for each in found] == ([labelled.kind] if labelled.kind else [])
    if labelled.subject is not None:
        assert [each.subject for each in found] == [labelled.subject]


def test_sentences_that_the_rules_were_not_written_for() -> None:
    """Precision and recall on held-out sentences; run with `-s` to see what is missed."""
    right = wrong = 0
    wanted = sum(each.kind is not None for each in HELD_OUT)
    for labelled in HELD_OUT:
        kinds = [each.kind for each in read(labelled.text)]
        right += labelled.kind is not None and kinds == [labelled.kind]
        wrong += bool(kinds) and kinds != [labelled.kind]
        if kinds != ([labelled.kind] if labelled.kind else []):
            print(f"{labelled.kind} expected of {labelled.text!r}, found {kinds}")
    print(f"precision {right / (right + wrong):.3f}, recall {right / wanted:.3f} of {len(HELD_OUT)}")
    assert right / (right + wrong) >= 0.95
    assert right / wanted >= 0.9


def test_enough_is_labelled() -> None:
    assert len(TUNED) + len(HELD_OUT) >= 250
    assert sum(each.kind is None for each in (*TUNED, *HELD_OUT)) >= 80


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (["Our runway is 14 months.", "Actually, it's 16 months."], ["Our runway is 16 months."]),
        (["Our runway is 14 months.", "Correction: 16 months."], ["Our runway is 16 months."]),
        (["Our runway is 14 months.", "No, it is 16."], ["Our runway is 16 months."]),
        (["The budget for Aurora is 20k.", "The Aurora budget is now 25k."], ["The Aurora budget is now 25k."]),
        (["The budget for Aurora is 20k.", "The budget is now 25k."], ["The budget is now 25k."]),
        (["Budget for Aurora: 20k", "Aurora's budget went up to 25k."], ["Aurora's budget went up to 25k."]),
        (["The price of the Pro plan is 49 euros. Sorry, 59 euros."], ["The price of the Pro plan is 59 euros."]),
        (["We decided to launch in March.", "Change of plan: we launch in May."], ["We launch in May."]),
        (["We decided to launch in March.", "Actually, let's make it May."], ["We decided to launch in May."]),
        (
            ["We decided to launch in March.", "We moved the launch from March to May."],
            ["We decided to launch in May."],
        ),
        (["We decided to launch in March.", "The launch is now in May."], ["The launch is now in May."]),
        (
            ["The launch is on 3 March.", "We are postponing the launch to 10 April."],
            ["We are postponing the launch to 10 April."],
        ),
        (
            ["We will go with Hetzner for hosting.", "On second thought, let's go with Scaleway instead."],
            ["We will go with Scaleway for hosting."],
        ),
        (
            ["We will go with Hetzner for hosting.", "Not Hetzner but Scaleway."],
            ["We will go with Scaleway for hosting."],
        ),
        (["We decided to hire two engineers.", "Actually three engineers."], ["We decided to hire three engineers."]),
        (["We decided to hire two engineers.", "Scrap that."], []),
        (["The offsite is in Porto.", "It is now in Faro."], ["The offsite is in Faro."]),
        (["The offsite is in Porto.", "The offsite is in Lisbon, not Porto."], ["The offsite is in Lisbon."]),
        (["I prefer short answers.", "Actually, I prefer detailed answers."], ["I prefer detailed answers."]),
        (["Maria will send the deck by Friday.", "Actually, by Monday."], ["Maria will send the deck by Monday."]),
        (
            ["Maria will send the deck by Friday.", "Jonas will send the deck instead of Maria."],
            ["Jonas will send the deck by Friday."],
        ),
        (
            ["Maria will send the deck by Friday.", "The deck is now due on Monday."],
            ["Maria will send the deck by Monday."],
        ),
        (["As for hosting, we go with OVH.", "On hosting: we chose Hetzner."], ["On hosting: we chose Hetzner."]),
        (["Office rent is 4,000 euros.", "Forget what I said about the office rent."], []),
        (["Unser Runway beträgt 14 Monate.", "Korrektur: 16 Monate."], ["Unser Runway beträgt 16 Monate."]),
        (["Das Büro ist in Graz.", "Nicht in Graz, sondern in Linz."], ["Das Büro ist in Linz."]),
        (
            ["Our CFO is Jonas Weber.", "Our runway is 14 months."],
            ["Our CFO is Jonas Weber.", "Our runway is 14 months."],
        ),
        (["We decided to hire two engineers.", "What if we hire three?"], ["We decided to hire two engineers."]),
        (["Our runway is 14 months.", "Actually, is it 16 months?"], ["Our runway is 14 months."]),
        (["Our runway is 14 months.", "Actually, that is a good question."], ["Our runway is 14 months."]),
    ],
)
def test_corrections_take_the_place_of_what_they_correct(texts: list[str], stands: list[str]) -> None:
    desk = Desk()
    for text in texts:
        desk.hears(text)
    assert desk.told() == stands
    assert desk.pending == []


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("We decided to open a shop in Oslo.", "We decided not to open a shop in Oslo."),
        ("We decided to open a shop in Oslo.", "We decided against opening a shop in Oslo."),
        ("We decided to open a shop in Oslo.", "We decided to open no shop in Oslo."),
        ("We decided to use AWS.", "We decided not to use AWS."),
        (
            "Wir haben beschlossen, einen Laden in Oslo zu eröffnen.",
            "Wir haben beschlossen, keinen Laden in Oslo zu eröffnen.",
        ),
        (
            "Wir haben beschlossen, den Laden in Oslo zu eröffnen.",
            "Wir haben beschlossen, den Laden in Oslo nicht zu eröffnen.",
        ),
        ("Wir haben beschlossen, nach Oslo zu gehen.", "Wir haben beschlossen, nicht nach Oslo zu gehen."),
    ],
)
def test_a_decision_against_takes_the_place_of_the_one_for_it_and_disputes_another_s(yes: str, no: str) -> None:
    for first, then in ((yes, no), (no, yes)):
        desk = Desk()
        desk.hears(first)
        desk.hears(then)
        assert desk.told() == [then]
        assert desk.pending == []
        desk.hears(first, "jonas")
        assert [(each.statement, each.status.value) for each in desk.standing] == [
            (then, "disputed"),
            (first, "disputed"),
        ]


def test_a_correction_keeps_owner_and_takes_the_new_day() -> None:
    desk = Desk()
    desk.hears("Maria will send the deck by Friday.")
    desk.hears("Actually, by Monday.")
    (claim,) = desk.standing
    assert (claim.owner, claim.due) == ("maria", date(2026, 10, 19))


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (
            ["Our price is 49 euros.", "Our price is 59 euros from 1 March 2027."],
            {"Our price is 49 euros.": "2027-02-28", "Our price is 59 euros from 1 March 2027.": None},
        ),
        (
            ["Our price is 49 euros.", "From 1 March 2027 our price is 59 euros."],
            {"Our price is 49 euros.": "2027-02-28", "From 1 March 2027 our price is 59 euros.": None},
        ),
        (
            ["Our price is 49 euros.", "Our price was 39 euros until December 2025."],
            {"Our price is 49 euros.": None, "Our price was 39 euros until December 2025.": "2025-12-31"},
        ),
        (
            ["Our price is 49 euros.", "Last year our price was 39 euros."],
            {"Our price is 49 euros.": None, "Last year our price was 39 euros.": None},
        ),
        (
            ["Our price is 59 euros from 1 March 2027.", "Our price is 61 euros from 1 April 2027."],
            {"Our price is 59 euros from 1 March 2027.": None, "Our price is 61 euros from 1 April 2027.": None},
        ),
        (
            ["Our office is closed from 1 November 2027.", "Our office is closed from 8 November 2027."],
            {"Our office is closed from 8 November 2027.": None},
        ),
        (["Our price is 49 euros.", "Our price is 59 euros from 1 October 2026."],
            {"Our price is 59 euros from 1 October 2026.": None}),
    ],
)  # fmt: skip
def test_what_will_be_and_what_was_do_not_take_the_place_of_what_is(
    texts: list[str], stands: dict[str, str | None]
) -> None:
    """Heard on 14 October 2026; by statement, the last day on which it holds."""
    desk = Desk()
    for text in texts:
        desk.hears(text)
    ends = {each.statement: each.valid_to and str(days.last(each.valid_to, "Europe/Berlin")) for each in desk.standing}
    assert ends == stands


def test_what_has_begun_meanwhile_gives_way_to_what_is_told_then() -> None:
    desk = Desk()
    desk.hears("Our price is 59 euros from 1 November 2026.")
    desk.now += timedelta(days=60)
    desk.hears("Our price is 49 euros.")
    assert desk.told() == ["Our price is 49 euros."]


def test_a_new_owner_is_that() -> None:
    desk = Desk()
    desk.hears("Maria will send the deck by Friday.")
    desk.hears("Jonas will send the deck instead of Maria.")
    assert [(each.owner, each.due) for each in desk.standing] == [("jonas", date(2026, 10, 16))]


@pytest.mark.parametrize(
    ("texts", "owner", "name"),
    [
        (["Zoe will send the tender by Friday."], None, "Zoe"),
        (["Zoe Marsh owns the website relaunch."], None, "Zoe Marsh"),
        (["We are starting a referral programme led by Zoe."], None, "Zoe"),
        (["We are starting a referral programme led by engineers."], None, None),
        (["Initiative: open the Lisbon office by September."], None, None),
        (["Maria will send the deck by Friday.", "Zoe will send the deck instead of Maria."], None, "Zoe"),
        (["Maria will send the deck by Friday.", "Not Maria but Zoe."], None, "Zoe"),
        (["Zoe will send the deck by Friday.", "Not Zoe but Maria."], "maria", None),
        (["Zoe will send the deck by Friday.", "Actually, by Monday."], None, "Zoe"),
    ],
)
def test_an_owner_who_is_not_of_the_roster_keeps_the_name_as_it_was_written(
    texts: list[str], owner: str | None, name: str | None
) -> None:
    desk = Desk()
    for text in texts:
        desk.hears(text)
    assert [(each.owner, each.owner_name) for each in desk.standing] == [(owner, name)]


def test_a_correction_by_somebody_else_disputes() -> None:
    desk = Desk()
    desk.hears("The budget for Aurora is 20k.")
    desk.hears("No, the budget for Aurora is 18k.", "jonas")
    assert sorted(each.statement for each in desk.standing) == [
        "The budget for Aurora is 18k.",
        "The budget for Aurora is 20k.",
    ]
    assert {each.status.value for each in desk.standing} == {"disputed"}


@pytest.mark.parametrize(
    ("text", "owner", "due"),
    [
        ("I will draft the press release by Tuesday.", "marta", date(2026, 10, 20)),
        ("Jonas will prepare the plan by the end of the month.", "jonas", date(2026, 10, 31)),
        ("Maria kümmert sich bis Freitag um das Angebot.", "maria", date(2026, 10, 16)),
        ("Action item: Jonas will call the landlord by Wednesday.", "jonas", date(2026, 10, 21)),
        ("Maria owns the website relaunch.", "maria", None),
        ("Zoe will send the tender by Friday.", None, date(2026, 10, 16)),  # nobody of the roster
    ],
)
def test_commitments_have_owner_and_day(text: str, owner: str | None, due: date | None) -> None:
    desk = Desk()
    desk.hears(text)
    (claim,) = desk.standing
    assert (claim.kind, claim.owner, claim.due) == (Kind.INITIATIVE, owner, due)


@pytest.mark.parametrize(
    "text",
    [
        "Anna schickt bis Freitag den Vertrag an die Bank.",
        "Anna will send the contract until Friday.",
        "Anna will send the contract by Friday.",
    ],
)
def test_a_day_by_which_something_is_due_does_not_end_that_it_is_true(text: str) -> None:
    desk = Desk()
    desk.hears(text)
    (claim,) = desk.standing
    assert (claim.owner, claim.due, claim.valid_to) == ("anna", date(2026, 10, 16), None)


def test_validity_is_what_the_sentence_says() -> None:
    desk = Desk()
    desk.hears("Our office is closed from 1 November until 31 March.")
    (claim,) = desk.standing
    assert claim.valid_from == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert claim.valid_to == datetime(2027, 3, 31, 22, tzinfo=UTC)


def test_one_message_may_tell_several_things() -> None:
    found = read(
        "Hi all, quick update:\n- we decided to close Linz\n- the rent there is 4,200 euros\n"
        "- Jonas will cancel the lease by Friday, and Maria will inform the team by Monday\nWhat do you think?"
    )
    assert [each.kind for each in found] == [Kind.DECISION, Kind.FACT, Kind.INITIATIVE, Kind.INITIATIVE]


def test_only_own_words_are_read() -> None:
    text = "> Our runway is 20 months.\nI do not think so."
    assert rules.candidates([heard(text, own=((27, len(text)),))], Known(people=PEOPLE)) == []


def test_the_executive_gives_advice_only_in_words_of_its_own() -> None:
    said = (
        "I recommend to close the Linz office.\n> I recommend to sell everything.\n"
        "You said: “I recommend to wait.”\nOur runway is 14 months."
    )
    found = read(said, EXECUTIVE)
    assert [(each.kind, each.statement) for each in found] == [(Kind.ADVICE, "I recommend to close the Linz office.")]


def test_an_initiative_is_proposed_when_promised_and_active_when_begun() -> None:
    assert [each.work for each in read("Maria will send the deck by Friday.")] == [Work.PROPOSED]
    assert [each.work for each in read("We are starting a referral programme.")] == [Work.ACTIVE]
