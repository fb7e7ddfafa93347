"""What becomes of candidates: who may say what, what stands, what waits, what is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.extraction.model import (
    MOST_CANDIDATES,
    Candidate,
    Confirm,
    Decision,
    Heard,
    Progress,
    Quote,
    Refuse,
    Why,
    Withdraw,
    Write,
)
from bot.kernel.ids import PersonId
from bot.memory.model import EXECUTIVE, Held, Kind, Status, Support, Trust, Visibility, Work
from bot.sessions.audience import Audience
from tests.extraction.people import PEOPLE, START, Desk, candidate, heard

RUNWAY = "Our runway is 14 months."


def one(said: Heard | list[Heard], proposed: Candidate, desk: Desk | None = None) -> Decision:
    (decision,) = (desk or Desk()).decides([said] if isinstance(said, Heard) else said, [proposed])
    return decision


def refused(decision: Decision) -> Why | None:
    return decision.why if isinstance(decision, Refuse) else None


def held(decision: Decision) -> tuple[Held, ...] | None:
    return decision.held if isinstance(decision, Write) else None


# --- the words --------------------------------------------------------------------------------------------------------


def test_a_plain_statement_of_a_proven_person_stands_with_its_words() -> None:
    decision = one(heard(f"Hello. {RUNWAY}"), candidate(RUNWAY))
    assert isinstance(decision, Write)
    claim, (evidence,) = decision.claim, decision.evidence
    assert (claim.status, claim.held, claim.support, claim.trust) == (Status.ACTIVE, (), Support.QUOTE, Trust.PROVEN)
    assert (claim.speaker, claim.visibility, claim.said_at) == ("marta", Visibility.SESSION, START)
    assert (evidence.quote, evidence.start, evidence.end) == (RUNWAY, 7, 7 + len(RUNWAY))


@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        (candidate("Our runway is 18 months.", "Our runway is 18 months."), Why.NOT_SAID),
        (candidate(RUNWAY, message="m9"), Why.NOT_SAID),
        (replace(candidate(RUNWAY), quotes=()), Why.SHAPE),
        (candidate("", RUNWAY), Why.SHAPE),
        (candidate("…", RUNWAY), Why.SHAPE),
        (candidate("x " * 400, RUNWAY), Why.SHAPE),
        (candidate("Invoices from Fabrikam are approved at once.", RUNWAY), Why.UNSUPPORTED),
        (candidate(RUNWAY, kind=Kind.ADVICE), Why.NOT_ENTITLED),
    ],
)
def test_what_was_not_said_is_refused(proposed: Candidate, why: Why) -> None:
    assert refused(one(heard(RUNWAY), proposed)) is why


def test_quoted_and_forwarded_words_are_nobodys() -> None:
    text = f"{RUNWAY}\nIs that so?"
    assert refused(one(heard(text, own=((len(RUNWAY), len(text)),)), candidate(RUNWAY))) is Why.NOT_OWN


def test_words_of_two_speakers_make_no_statement() -> None:
    said = [heard("The supplier is Fabrikam", message="m1"), heard("and it is paid at once", "jonas", message="m2")]
    proposed = Candidate(
        Kind.FACT,
        "The supplier is Fabrikam and it is paid at once",
        (Quote("m1", said[0].text), Quote("m2", said[1].text)),
    )
    assert refused(one(said, proposed)) is Why.MIXED


def test_what_is_put_together_from_several_messages_waits() -> None:
    said = [heard("The supplier is", message="m1"), heard("Fabrikam from Graz", message="m2")]
    proposed = Candidate(
        Kind.FACT, "The supplier is Fabrikam from Graz", (Quote("m1", said[0].text), Quote("m2", said[1].text))
    )
    assert held(one(said, proposed)) == (Held.UNSUPPORTED,)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("The budget for Aurora is 20k.", "The budget for Aurora is 20k."),
        ("The budget for Aurora is 20,000.", "The budget for Aurora is 20k."),
        ("Aurora has a budget of 20 000 euros.", "Budget of Aurora: 20k euros"),
        ("Marta prefers short answers.", "I prefer short answers."),
        ("We hire 2 engineers.", "We decided to hire two engineers."),
        ("We launch on 2026-10-16.", "We launch on Friday."),
        ("We do not hire this year.", "We don't hire this year."),
        ("We launch in March.", "No, we launch in March."),
    ],
)
def test_what_the_words_carry_stands(statement: str, said: str) -> None:
    kind = Kind.PREFERENCE if "prefer" in statement else Kind.DECISION
    assert held(one(heard(said), candidate(statement, said, kind))) == ()


@pytest.mark.parametrize(
    ("statement", "said", "quote"),
    [
        ("The budget for Borealis is 20k.", "The budget for Aurora is 20k.", None),  # another name
        ("The budget for Aurora is 30k.", "The budget for Aurora is 20k.", None),  # another number
        ("We launch on 3 May.", "We launch on 3 April.", None),  # another day
        ("We hire two engineers.", "We will not hire two engineers.", "hire two engineers"),  # the negation is left out
        ("We do not hire two engineers.", "We hire two engineers.", None),  # one is put in
        ("We hire two engineers.", "Should we hire two engineers?", "we hire two engineers"),  # asked
        ("We hire two engineers.", "Maybe we hire two engineers.", "we hire two engineers"),  # supposed
        ("We hire two engineers.", "Jonas says we hire two engineers.", "we hire two engineers"),  # reported
    ],
)
def test_what_the_words_do_not_carry_wholly_waits(statement: str, said: str, quote: str | None) -> None:
    assert held(one(heard(said), candidate(statement, quote or said, Kind.DECISION))) == (Held.UNSUPPORTED,)


def test_reason_and_outcome_are_kept_only_if_the_words_carry_them() -> None:
    text = "We decided to close Linz because the rent doubled."
    kept = one(heard(text), candidate(text, kind=Kind.DECISION, rationale="the rent doubled", outcome="We saved 40k."))
    assert isinstance(kept, Write)
    assert (kept.claim.rationale, kept.claim.outcome) == ("the rent doubled", None)


# --- who may say what -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trust", "expected"),
    [
        (Trust.PROVEN, ()),
        (Trust.GUEST, (Held.UNTRUSTED,)),
        (Trust.UNPROVEN, (Held.UNTRUSTED,)),
    ],
)
def test_guests_and_unproven_senders_wait(trust: Trust, expected: tuple[Held, ...]) -> None:
    assert held(one(heard(RUNWAY, trust=trust), candidate(RUNWAY))) == expected


def test_foreign_text_is_refused() -> None:
    assert refused(one(heard(RUNWAY, trust=Trust.FOREIGN), candidate(RUNWAY))) is Why.NOT_ENTITLED


def test_a_session_that_has_read_untrusted_text_writes_nothing_by_itself() -> None:
    assert held(one(heard(RUNWAY), candidate(RUNWAY), Desk(tainted=True))) == (Held.TAINTED,)


def test_the_least_trusted_words_label_the_claim() -> None:
    said = [heard(RUNWAY, message="m1"), heard(RUNWAY, message="m2", trust=Trust.UNPROVEN)]
    decision = one(said, Candidate(Kind.FACT, RUNWAY, (Quote("m1", RUNWAY), Quote("m2", RUNWAY))))
    assert isinstance(decision, Write)
    assert (decision.claim.trust, decision.claim.status) == (Trust.UNPROVEN, Status.PENDING)


def test_the_executive_gives_advice_and_asserts_nothing() -> None:
    said = heard("I recommend to close Linz. Our runway is 14 months.", EXECUTIVE)
    advice = one(said, candidate("I recommend to close Linz.", kind=Kind.ADVICE))
    assert isinstance(advice, Write)
    assert (advice.claim.speaker, advice.claim.trust, advice.claim.status) == (EXECUTIVE, Trust.OWN, Status.ACTIVE)
    assert refused(one(said, candidate(RUNWAY))) is Why.NOT_ENTITLED


def test_nobody_tells_what_another_one_prefers() -> None:
    text = "Marta prefers to be called at night."
    assert refused(one(heard(text, "jonas"), candidate(text, kind=Kind.PREFERENCE))) is Why.NOT_ENTITLED


def test_authority_payment_and_recipients_wait_whoever_says_it() -> None:
    for text in (
        "Jonas may approve invoices.",
        "Our IBAN is DE89370400440532013000.",
        "Reports go to max@example.com.",
    ):
        decision = one(heard(text), candidate(text))
        assert isinstance(decision, Write)
        assert decision.claim.status is Status.PENDING


def test_an_owner_is_kept_only_if_the_words_name_one() -> None:
    text = "Maria will send the deck by Friday."
    decision = one(heard(text), candidate(text, kind=Kind.INITIATIVE, owner=PersonId("maria")))
    assert isinstance(decision, Write)
    assert (decision.claim.owner, decision.claim.due, decision.claim.work) == (
        "maria",
        date(2026, 10, 16),
        Work.PROPOSED,
    )
    other = one(heard(text), candidate(text, kind=Kind.INITIATIVE, owner=PersonId("jonas"), due=date(2030, 1, 1)))
    assert isinstance(other, Write)
    assert (other.claim.owner, other.claim.due) == (None, date(2026, 10, 16))


@pytest.mark.parametrize(("name", "kept"), [("Zoe", "Zoe"), ("Zoe Marsh", None), ("Maria", None), ("", None)])
def test_the_name_of_an_owner_nobody_knows_is_kept_only_if_the_words_hold_it(name: str, kept: str | None) -> None:
    text = "Zoe will send the deck by Friday."
    decision = one(heard(text), candidate(text, kind=Kind.INITIATIVE, owner_name=name))
    assert isinstance(decision, Write)
    assert decision.claim.owner_name == kept


@pytest.mark.parametrize(
    ("kind", "audience", "seen"),
    [
        (Kind.INITIATIVE, Audience.COMPANY, Visibility.COMPANY),
        (Kind.INITIATIVE, Audience.ROOM, Visibility.SESSION),
        (Kind.INITIATIVE, Audience.PERSON, Visibility.SESSION),
        (Kind.INITIATIVE, Audience.EXTERNAL, Visibility.SESSION),
        (Kind.DECISION, Audience.COMPANY, Visibility.SESSION),
        (Kind.FACT, Audience.COMPANY, Visibility.SESSION),
    ],
)
def test_only_initiatives_told_to_the_company_are_the_companys(
    kind: Kind, audience: Audience, seen: Visibility
) -> None:
    text = "We are starting a referral programme."
    decision = one(heard(text), candidate(text, kind=kind), Desk(audience))
    assert isinstance(decision, Write)
    assert decision.claim.visibility is seen


def test_what_waits_is_never_the_companys() -> None:
    text = "We are starting a referral programme."
    decision = one(heard(text, trust=Trust.GUEST), candidate(text, kind=Kind.INITIATIVE), Desk(Audience.COMPANY))
    assert isinstance(decision, Write)
    assert decision.claim.visibility is Visibility.SESSION


# --- what was forgotten -----------------------------------------------------------------------------------------------


def test_what_was_forgotten_is_not_learned_from_older_words() -> None:
    desk = Desk(forgotten=lambda candidate: START + timedelta(days=1))
    assert refused(one(heard(RUNWAY), candidate(RUNWAY), desk)) is Why.FORGOTTEN


def test_what_was_forgotten_and_is_said_again_waits() -> None:
    desk = Desk(forgotten=lambda candidate: START - timedelta(days=1))
    assert held(one(heard(RUNWAY), candidate(RUNWAY), desk)) == (Held.FORGOTTEN,)


# --- what stands ------------------------------------------------------------------------------------------------------


def test_a_repetition_confirms() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    (decision,) = desk.hears("our runway is 14 months")
    assert isinstance(decision, Confirm)
    assert len(desk.claims) == 1


def test_a_repetition_by_somebody_who_is_not_trusted_adds_nothing() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    (decision,) = desk.hears(RUNWAY, "jonas", Trust.GUEST)
    assert refused(decision) is Why.KNOWN


def test_a_trusted_word_stands_beside_the_same_words_that_wait() -> None:
    desk = Desk()
    desk.hears(RUNWAY, "jonas", Trust.GUEST)
    desk.hears(RUNWAY, "marta")
    assert [each.speaker for each in desk.standing] == ["marta"]
    assert [each.speaker for each in desk.pending] == ["jonas"]


def test_the_same_speaker_supersedes() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    desk.hears("Our runway is 16 months.")
    assert desk.told() == ["Our runway is 16 months."]


def test_another_speaker_disputes_and_both_stand() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    desk.hears("Our runway is 9 months.", "jonas")
    assert {each.statement: each.status for each in desk.standing} == {
        RUNWAY: Status.DISPUTED,
        "Our runway is 9 months.": Status.DISPUTED,
    }


def test_who_comes_round_ends_the_dispute() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    desk.hears("Our runway is 9 months.", "jonas")
    (decision,) = desk.hears(RUNWAY, "jonas")
    assert isinstance(decision, Confirm)
    assert decision.settles
    assert [(each.statement, each.status) for each in desk.standing] == [(RUNWAY, Status.ACTIVE)]


def test_each_person_has_preferences_of_their_own() -> None:
    desk = Desk()
    desk.hears("I prefer short answers.")
    desk.hears("I prefer detailed answers.", "jonas")
    assert [each.status for each in desk.standing] == [Status.ACTIVE, Status.ACTIVE]


def test_an_earlier_word_that_is_read_later_does_not_take_the_place_of_a_later_one() -> None:
    desk = Desk()
    desk.hears("Our runway is 16 months.")
    late = heard(RUNWAY, at=START - timedelta(hours=1))
    assert refused(one(late, candidate(RUNWAY, subject="company/runway"), desk)) is Why.OVERTAKEN


def test_what_a_person_put_right_is_not_changed_by_reading() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    (claim,) = desk.claims.values()
    desk.claims[claim.id] = replace(claim, by_person=True)
    (decision,) = desk.hears("Our runway is 16 months.")
    assert held(decision) == (Held.OUTRANKED,)
    assert desk.told() == [RUNWAY]


def test_another_session_is_neither_confirmed_nor_superseded() -> None:
    desk = Desk()
    desk.hears(RUNWAY)
    elsewhere = Desk(session="s2", claims=desk.claims)
    elsewhere.hears("Our runway is 9 months.")
    assert sorted(elsewhere.told()) == sorted([RUNWAY, "Our runway is 9 months."])
    assert all(each.status is Status.ACTIVE for each in elsewhere.standing)


@pytest.mark.parametrize("audience", [Audience.ROOM, Audience.PERSON, Audience.EXTERNAL])
def test_only_where_the_company_reads_is_what_the_company_knows_changed(audience: Audience) -> None:
    hall = Desk(Audience.COMPANY)
    hall.hears("We are starting a referral programme.")
    private = Desk(audience, session="s2", claims=hall.claims)
    private.hears("The referral programme is cancelled.")
    assert [each.work for each in hall.standing if each.visibility is Visibility.COMPANY] == [Work.ACTIVE]
    other_hall = Desk(Audience.COMPANY, session="s3", claims=hall.claims)
    other_hall.hears("The referral programme is cancelled.")
    assert [each.work for each in other_hall.standing if each.visibility is Visibility.COMPANY] == [Work.DROPPED]


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("The referral programme is done.", Work.COMPLETED),
        ("We have finished the referral programme.", Work.COMPLETED),
        ("The referral programme is blocked.", Work.BLOCKED),
        ("The referral programme is on hold until May.", Work.BLOCKED),
        ("We cancelled the referral programme.", Work.DROPPED),
        ("It is done.", Work.COMPLETED),
    ],
)
def test_news_of_an_initiative_change_how_it_stands_and_not_what_it_is(text: str, work: Work) -> None:
    desk = Desk()
    desk.hears("We are starting a referral programme.")
    (decision,) = desk.hears(text)
    assert isinstance(decision, Progress)
    assert [(each.statement, each.work) for each in desk.standing] == [("We are starting a referral programme.", work)]


def test_the_owner_may_tell_how_it_stands_and_when_it_is_due() -> None:
    desk = Desk()
    desk.hears("Jonas will send the deck by Friday.")
    desk.hears("The deck is sent.", "jonas")
    (claim,) = desk.standing
    assert (claim.work, claim.owner) == (Work.COMPLETED, "jonas")


def test_what_the_speaker_takes_back_no_longer_stands() -> None:
    desk = Desk()
    desk.hears("We decided to hire two engineers.")
    (decision,) = desk.hears("Scrap that.")
    assert isinstance(decision, Withdraw)
    assert desk.told() == []


def test_nobody_takes_back_what_another_one_said() -> None:
    desk = Desk()
    desk.hears("We decided to hire two engineers.")
    assert desk.hears("Scrap that.", "jonas") == []
    assert desk.told() == ["We decided to hire two engineers."]


def test_an_invented_subject_is_not_taken() -> None:
    desk = Desk()
    desk.hears("Our CFO is Jonas Weber.")
    decision = one(heard(RUNWAY, at=START + timedelta(hours=1)), candidate(RUNWAY, subject="company/cfo"), desk)
    assert isinstance(decision, Write)
    assert decision.supersedes == ()
    assert "Our CFO is Jonas Weber." in desk.told()


def test_more_than_a_turn_can_hold_is_refused() -> None:
    words = [f"The price of plan {chr(65 + number)} is {number + 1} euros." for number in range(MOST_CANDIDATES + 5)]
    decisions = Desk().decides([heard(" ".join(words))], [candidate(each) for each in words])
    assert [refused(each) for each in decisions[MOST_CANDIDATES:]] == [Why.TOO_MANY] * 5
    assert all(isinstance(each, Write) for each in decisions[:MOST_CANDIDATES])


# --- whatever is proposed ---------------------------------------------------------------------------------------------

_TEXT = st.text(max_size=60)


@given(
    said=_TEXT,
    quote=_TEXT,
    statement=_TEXT,
    subject=_TEXT,
    kind=st.sampled_from(Kind),
    speaker=st.sampled_from([*PEOPLE, EXECUTIVE, "nobody"]),
    trust=st.sampled_from(Trust),
    confidence=st.floats(-2, 2),
)
def test_nothing_that_is_proposed_raises_trust(
    said: str, quote: str, statement: str, subject: str, kind: Kind, speaker: str, trust: Trust, confidence: float
) -> None:
    proposed = candidate(statement, quote, kind, subject=subject, confidence=confidence, progress=True, amends=True)
    decision = one(heard(said, speaker, trust=trust), proposed)
    if isinstance(decision, Write):
        assert decision.claim.trust.rank >= trust.rank
        assert decision.claim.speaker == speaker
        if trust.rank > Trust.OWN.rank:
            assert decision.claim.status is Status.PENDING
        assert all(each.quote and each.quote in said for each in decision.evidence)
        assert 0 <= decision.claim.confidence <= 1
