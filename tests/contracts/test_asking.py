"""Buttons and forms: who pressed, twice, what becomes of the question, and what was filled in."""

from __future__ import annotations

from typing import TypeVar

import pytest

from bot.gateway.events import ButtonPressed, FormSubmitted, PlaceKind, Proof, ReplyPath
from bot.gateway.forms import LONGEST_VALUE, Field, Form
from bot.gateway.operations import Choice, Edit, Reply, asking
from bot.kernel.errors import PermanentError
from tests.contracts.bench import Bench, Talk, Who, until
from tests.contracts.those import those

CHOICES = (Choice("go:7", "Approve"), Choice("no:7", "Reject"), Choice("edit:7", "Edit…", opens_form=True))
FORM = Form("edited:7", "Edit the mail", (Field("text", "The mail", "Dear <Bob> & all,\n*hello*"),))
E = TypeVar("E", ButtonPressed, FormSubmitted)


async def asked(bench: Bench, talk: Talk = Talk.DIRECT) -> tuple[ReplyPath, str]:
    """A question with three buttons stands in a conversation."""
    if talk is Talk.GROUP and not bench.can.groups:
        pytest.skip("there are no conversations among several")
    path = await bench.path(talk)
    ops = asking(bench.channel.plan(Reply(path, "Send **this**?")), CHOICES, None)
    receipts = [await bench.channel.send(op, bench.key(), again=False) for op in ops]
    found = receipts[-1].ref
    assert found is not None
    await bench.until_shown("Send", talk)
    return path, found


async def happened(bench: Bench, kind: type[E], count: int) -> list[E]:
    def found() -> list[E]:
        return [one for one in bench.inbox.events if isinstance(one, kind)]

    await until(lambda: len(found()) >= count)
    return found()


@those(lambda can: can.buttons)
@pytest.mark.parametrize("talk", [Talk.DIRECT, Talk.GROUP])
async def test_a_press_says_who_pressed_what_where(bench: Bench, talk: Talk) -> None:
    path, ref = await asked(bench, talk)
    assert bench.far.buttons(ref) == ["Approve", "Reject", "Edit…"]
    who = Who.ANN if talk is Talk.DIRECT else Who.BEN
    await bench.far.presses(who, ref, "go:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert (press.token, press.ref, press.thread.key) == ("go:7", ref, path.thread)
    assert (press.sender.address, press.sender.proof) == (bench.far.address(who), Proof.PLATFORM)
    assert (press.place.kind is PlaceKind.DIRECT) == (talk is Talk.DIRECT)


@those(lambda can: can.buttons and can.groups)
async def test_two_presses_are_two_events_each_with_an_answer_of_its_own(bench: Bench) -> None:
    _, ref = await asked(bench, Talk.GROUP)
    await bench.far.presses(Who.ANN, ref, "go:7")
    await happened(bench, ButtonPressed, 1)
    await bench.far.presses(Who.BEN, ref, "go:7")
    await bench.far.presses(Who.ANN, ref, "no:7")
    presses = await happened(bench, ButtonPressed, 3)
    assert len({key for press in presses for key in press.keys}) == 3
    assert len({press.response for press in presses}) == 3
    assert [(press.sender.address, press.token) for press in presses] == [
        (bench.far.address(Who.ANN), "go:7"),
        (bench.far.address(Who.BEN), "go:7"),
        (bench.far.address(Who.ANN), "no:7"),
    ]
    for number, press in enumerate(presses):
        assert press.response is not None
        await bench.channel.respond(press.response, f"Word {number}.")
    await until(lambda: all(any(f"Word {n}." in one for one in bench.far.responses()) for n in range(3)))


@those(lambda can: can.buttons)
@pytest.mark.parametrize("talk", [Talk.DIRECT, Talk.GROUP])
async def test_a_question_is_edited_to_its_outcome_and_loses_its_buttons(bench: Bench, talk: Talk) -> None:
    path, ref = await asked(bench, talk)
    await bench.channel.send(Edit(path, ref, "Approved by Ann.", "Approved by Ann."), bench.key(), again=False)
    await bench.until_shown("Approved by Ann.", talk)
    assert bench.far.buttons(ref) == []
    assert not any("Send this?" in one for one in bench.far.shown(talk))
    # A press that was on its way is told as any other.
    await bench.far.presses(Who.ANN, ref, "no:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert press.ref == ref


@those(lambda can: can.form_fields > 0)
@pytest.mark.parametrize("talk", [Talk.DIRECT, Talk.GROUP])
async def test_a_press_opens_a_form_and_what_was_filled_in_comes_back(bench: Bench, talk: Talk) -> None:
    assert bench.channel.form_fields == bench.can.form_fields
    path, ref = await asked(bench, talk)
    await bench.far.presses(Who.ANN, ref, "edit:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert press.token == "edit:7"
    assert press.response is not None
    await bench.channel.respond(press.response, FORM)
    await until(lambda: bench.far.form(Who.ANN, talk) is not None)
    assert bench.far.form(Who.ANN, talk) == {"The mail": FORM.fields[0].value}
    assert bench.far.buttons(ref) == ["Approve", "Reject", "Edit…"]
    words = "Dear <Bob>,\n*hello* & good bye"
    await bench.far.sends_form(Who.ANN, {"text": words}, talk)
    (form,) = await happened(bench, FormSubmitted, 1)
    assert (form.token, form.values, form.ref) == ("edited:7", (("text", words),), ref)
    assert (form.sender.address, form.thread.key) == (bench.far.address(Who.ANN), path.thread)
    assert form.response is not None
    await bench.channel.respond(form.response, "Thank you.")
    await until(lambda: any("Thank you." in one for one in bench.far.responses()))


@those(lambda can: can.form_fields > 0)
async def test_a_form_survives_a_restart(bench: Bench) -> None:
    _, ref = await asked(bench)
    await bench.far.presses(Who.ANN, ref, "edit:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert press.response is not None
    await bench.channel.respond(press.response, FORM)
    await until(lambda: bench.far.form(Who.ANN) is not None)
    await bench.restart()
    await bench.far.sends_form(Who.ANN, {"text": "new words"})
    (form,) = await happened(bench, FormSubmitted, 1)
    assert (form.token, form.values) == ("edited:7", (("text", "new words"),))


@those(lambda can: can.form_fields > 0)
async def test_who_may_not_edit_is_told_so_in_words_at_once(bench: Bench) -> None:
    _, ref = await asked(bench, Talk.GROUP)
    await bench.far.presses(Who.BEN, ref, "edit:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert press.response is not None
    await bench.channel.respond(press.response, "Only Ann decides this.")
    await until(lambda: any("Only Ann decides this." in one for one in bench.far.responses()), timeout=1.5)
    assert bench.far.form(Who.BEN, Talk.GROUP) is None


@those(lambda can: can.form_fields == 1)
async def test_a_form_of_several_fields_is_refused_where_there_are_none(bench: Bench) -> None:
    _, ref = await asked(bench)
    await bench.far.presses(Who.ANN, ref, "edit:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert press.response is not None
    with pytest.raises(PermanentError):
        await bench.channel.respond(press.response, Form("t", "Two", (Field("a", "A"), Field("b", "B"))))


@those(lambda can: can.form_fields > 0)
async def test_the_longest_form_fits(bench: Bench) -> None:
    _, ref = await asked(bench)
    await bench.far.presses(Who.ANN, ref, "edit:7")
    (press,) = await happened(bench, ButtonPressed, 1)
    assert press.response is not None
    fields = tuple(Field(f"f{n}", f"{n}" * 45, "<" * LONGEST_VALUE) for n in range(bench.can.form_fields))
    await bench.channel.respond(press.response, Form("é" * 32, "T" * 24, fields))
    await until(lambda: bench.far.form(Who.ANN) is not None)
    assert bench.far.form(Who.ANN) == {field.label: field.value for field in fields}


@those(lambda can: can.form_fields == 0)
async def test_where_there_are_no_forms_it_is_said(built: Bench) -> None:
    assert built.channel.form_fields == 0


@pytest.mark.parametrize(
    ("token", "title", "fields"),
    [
        ("é" * 33, "T", (Field("a", "A"),)),
        ("t", "", (Field("a", "A"),)),
        ("t", "T" * 25, (Field("a", "A"),)),
        ("t", "T", ()),
        ("t", "T", tuple(Field(str(n), "A") for n in range(6))),
        ("t", "T", (Field("a", ""),)),
        ("t", "T", (Field("a", "A" * 46),)),
        ("t", "T", (Field("a", "A", "x" * (LONGEST_VALUE + 1)),)),
    ],
)
def test_a_form_that_some_platform_could_not_show_is_none(token: str, title: str, fields: tuple[Field, ...]) -> None:
    with pytest.raises(ValueError, match="form"):
        Form(token, title, fields)
