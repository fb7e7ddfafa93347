"""How many pages listen: few of one conversation and of one account, so that others have room."""

from __future__ import annotations

from channels.web.listening import MOST, MOST_OF_ACCOUNT, MOST_OF_ONE, Listeners


def test_one_account_leaves_room_for_others() -> None:
    listeners = Listeners()
    mine = [listeners.add("ada", f"web:{number // MOST_OF_ONE}") for number in range(MOST_OF_ACCOUNT)]
    assert all(mine)
    assert listeners.add("ada", "web:another") is None
    assert listeners.add("bob", "web:his") is not None
    assert mine[0] is not None
    mine[0].close()
    assert listeners.add("ada", "web:another") is not None


def test_one_conversation_has_few_and_all_together_are_bounded() -> None:
    listeners = Listeners()
    assert all(listeners.add("ada", "web:one") for _ in range(MOST_OF_ONE))
    assert listeners.add("ada", "web:one") is None
    assert all(listeners.add(f"p{number}", f"web:{number}") for number in range(MOST - MOST_OF_ONE))
    assert listeners.add("one more", "web:more") is None
