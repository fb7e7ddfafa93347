"""Lives written by hand: what a generator does not think of."""

from __future__ import annotations

from tests.evaluation.lives.script import (
    Checkpoint,
    Correct,
    Delete,
    Edit,
    Fate,
    Forget,
    GuestJoins,
    Key,
    Life,
    NewHistory,
    Restart,
    Retract,
    Say,
)

A = Key("one", "Atlas", "budget")
B = Key("one", "Atlas", "launch")
C = Key("one", "Beacon", "owner")
D = Key("two", "Atlas", "budget")
E = Key("two", "Comet", "supplier")

CHANGING = Life(
    "a launch that keeps moving",
    (
        Say("1", "one", "Marta", "We decided to launch Atlas on 14 March.", B, "14 March"),
        Checkpoint({B: "14 March", A: Fate.ABSENT}),
        Say("2", "one", "Marta", "The fair is full. Change of plan: Atlas launches on 2 April.", B, "2 April"),
        Checkpoint({B: "2 April"}),
        Say("3", "one", "Jonas", "When exactly does Atlas launch? I have 14 March in my notes."),
        Checkpoint({B: "2 April"}),
        Say("4", "one", "Marta", "Actually, the launch date of Atlas is 9 April.", B, "9 April"),
        Restart(),
        Checkpoint({B: "9 April"}),
        Say("5", "one", "Marta", "Please keep that in mind."),
        Checkpoint({B: "9 April"}),
        Edit("4", "Actually, the launch date of Atlas is 11 April.", B, "11 April"),
        Checkpoint({B: "11 April"}),
        NewHistory("one"),
        Checkpoint({B: "11 April"}),
        Say("6", "one", "Marta", "We moved the launch of Atlas to 20 May.", B, "20 May"),
        Checkpoint({B: "20 May"}),
    ),
)

TWO_THREADS = Life(
    "the same words in two threads",
    (
        Say("1", "one", "Marta", "The budget for Atlas is 40,100 euros.", A, "40,100 euros"),
        Say("2", "two", "Jonas", "The budget for Atlas is 77,300 euros.", D, "77,300 euros"),
        Checkpoint({A: "40,100 euros", D: "77,300 euros"}),
        Say("3", "two", "Jonas", "We raised the budget for Atlas to 79,900 euros.", D, "79,900 euros"),
        Checkpoint({A: "40,100 euros", D: "79,900 euros"}),
        Forget(A),
        Checkpoint({A: Fate.ERASED, D: "79,900 euros"}),
        Restart(),
        Checkpoint({A: Fate.ERASED, D: "79,900 euros"}),
        Say("4", "one", "Marta", "What is the budget for Atlas?"),
        Checkpoint({A: Fate.ERASED, D: "79,900 euros"}),
        Say("5", "two", "Jonas", "We chose Hexley as the supplier for Comet.", E, "Hexley"),
        Checkpoint({A: Fate.ERASED, D: "79,900 euros", E: "Hexley"}),
        Delete("5", E),
        Checkpoint({E: Fate.RETRACTED, D: "79,900 euros"}),
        Retract(D),
        Checkpoint({D: Fate.RETRACTED, A: Fate.ERASED}),
    ),
)

TALK = Life(
    "much talk and little told",
    (
        Say("1", "one", "Jonas", "What if the budget for Atlas were 91,200 euros?"),
        Checkpoint({A: Fate.ABSENT}),
        Say("2", "one", "Jonas", "Sure, and the moon is made of cheese. Should Nora Hollis own Beacon?"),
        Checkpoint({C: Fate.ABSENT}),
        Say("3", "one", "Marta", "See what the agency wrote:", quoted="The budget for Atlas is 64,400 euros."),
        Checkpoint({A: Fate.ABSENT}),
        Say("4", "one", "Marta", "The agency says that the budget for Atlas is 64,400 euros. I do not believe it."),
        Checkpoint({A: Fate.ABSENT}),
        Say("5", "one", "Marta", "If all goes well we could launch Atlas on 3 August, but nothing is decided."),
        Checkpoint({B: Fate.ABSENT}),
        Say("6", "one", "Marta", "The budget for Atlas is not 91,200 euros."),
        Checkpoint({C: Fate.ABSENT, B: Fate.ABSENT}),
        Say("7", "one", "Marta", "The budget for Atlas is 52,700 euros.", A, "52,700 euros"),
        Checkpoint({A: "52,700 euros", B: Fate.ABSENT, C: Fate.ABSENT}),
        Say("8", "one", "Jonas", "Thanks. And would 18 June be too late for the launch of Atlas?"),
        Checkpoint({A: "52,700 euros", B: Fate.ABSENT}),
    ),
    frozenset({"64,400 euros", "Nora Hollis", "3 August", "18 June"}),
)

GUEST = Life(
    "a guest comes in",
    (
        Say("1", "one", "Marta", "The budget for Atlas is 33,800 euros.", A, "33,800 euros"),
        Say("2", "one", "Jonas", "Emil Keller owns Beacon.", C, "Emil Keller"),
        Checkpoint({A: "33,800 euros", C: "Emil Keller"}),
        Say("3", "one", "Jonas", "Correction: the owner of Beacon is Lea Thorne.", C, "Lea Thorne"),
        Checkpoint({A: "33,800 euros", C: "Lea Thorne"}),
        Say("4", "one", "Jonas", "The budget for Atlas is 36,600 euros.", A, "36,600 euros"),
        Checkpoint({A: ("33,800 euros", "36,600 euros")}),
        Restart(),
        Checkpoint({A: ("33,800 euros", "36,600 euros"), C: "Lea Thorne"}),
        GuestJoins("one"),
        Checkpoint({A: Fate.ABSENT, C: Fate.ABSENT}),
        Say("5", "one", "Marta", "Atlas launches on 5 July.", B, "5 July"),
        Checkpoint({B: "5 July", A: Fate.ABSENT}),
        Say("6", "one", "Marta", "Change of plan: Atlas launches on 6 July.", B, "6 July"),
        Checkpoint({B: "6 July", C: Fate.ABSENT}),
        Forget(B),
        Checkpoint({B: Fate.ERASED}),
    ),
)

BY_HAND = Life(
    "people look after what is remembered",
    (
        Say("1", "one", "Marta", "The budget for Atlas is 21,500 euros.", A, "21,500 euros"),
        Say("2", "one", "Marta", "Owen Steiner owns Beacon.", C, "Owen Steiner"),
        Checkpoint({A: "21,500 euros", C: "Owen Steiner"}),
        Correct(A, "23,700 euros", "The budget for Atlas is 23,700 euros."),
        Checkpoint({A: "23,700 euros", C: "Owen Steiner"}),
        Say("3", "one", "Marta", "Good morning!"),
        Checkpoint({A: "23,700 euros"}),
        Restart(),
        Checkpoint({A: "23,700 euros", C: "Owen Steiner"}),
        Retract(C),
        Checkpoint({A: "23,700 euros", C: Fate.RETRACTED}),
        Say("4", "one", "Marta", "Piotr Quigley owns Beacon.", C, "Piotr Quigley"),
        Checkpoint({A: "23,700 euros", C: "Piotr Quigley"}),
        Forget(A),
        Checkpoint({A: Fate.ERASED, C: "Piotr Quigley"}),
        NewHistory("one"),
        Checkpoint({A: Fate.ERASED, C: "Piotr Quigley"}),
    ),
)

LIVES = (CHANGING, TWO_THREADS, TALK, GUEST, BY_HAND)
