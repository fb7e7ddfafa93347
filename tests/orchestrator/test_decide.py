"""Every way in which an answer may end has its outcome."""

from __future__ import annotations

import pytest

from bot.llm.model import Finished, StopReason, Text, Usage
from bot.orchestrator import decide as decisions
from bot.orchestrator.decide import Answer, Silent, decide, said_with_sources
from bot.orchestrator.tools import Source


def finished(stop: StopReason, text: str, detail: str = "") -> Finished:
    return Finished((Text(text),) if text else (), stop, Usage(), "m", detail)


@pytest.mark.case(76)
def test_case_76_silence_sends_nothing() -> None:
    assert decide(finished(StopReason.END_TURN, " [silence]\n")) == Silent()
    assert decide(finished(StopReason.END_TURN, "They said [silence] to me.")) == Answer("They said [silence] to me.")


@pytest.mark.case(136)
@pytest.mark.parametrize("stop", list(StopReason))
def test_case_136_every_stop_reason_has_its_outcome(stop: StopReason) -> None:
    answer = decide(finished(stop, "half a thought", "odd_reason"))
    assert isinstance(answer, Answer)
    assert answer.text.startswith("half a thought")
    whole = stop in (StopReason.END_TURN, StopReason.STOP_SEQUENCE)
    assert (answer.text == "half a thought") is whole


@pytest.mark.case(137)
def test_case_137_an_answer_that_was_cut_says_so() -> None:
    assert decide(finished(StopReason.MAX_TOKENS, "so far")) == Answer("so far" + decisions.CUT)


@pytest.mark.parametrize("stop", [stop for stop in StopReason if stop is not StopReason.REFUSAL])
def test_nothing_at_all_is_never_passed_off_as_an_answer(stop: StopReason) -> None:
    assert decide(finished(stop, "")) == Answer(decisions.EMPTY)


def test_a_refusal_is_said_and_not_repeated_blindly() -> None:
    assert decide(finished(StopReason.REFUSAL, "")) == Answer(decisions.REFUSED)


def test_sources_stand_in_one_line_and_long_lists_are_counted() -> None:
    sources = [Source(str(n), f"note {n}") for n in range(8)]
    text = said_with_sources("Yes.", sources)
    assert text == "Yes.\n\n*Sources: note 0; note 1; note 2; note 3; note 4; note 5; and 2 more*"
    assert said_with_sources("Yes.", []) == "Yes."
