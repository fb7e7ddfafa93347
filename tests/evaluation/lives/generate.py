"""Lives made from seeds: things are told, changed, disputed, corrected, forgotten, and spoken of without being told."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from tests.evaluation.lives.script import (
    Checkpoint,
    Correct,
    Delete,
    Edit,
    Fate,
    Forget,
    Key,
    Life,
    Restart,
    Retract,
    Say,
    Step,
)

PEOPLE = ("Marta", "Jonas")
THREADS = ("one", "two")
ENTITIES = (
    *("Atlas", "Beacon", "Comet", "Delta Fair", "Ember", "Falcon", "Garnet", "Harbour", "Iris", "Juniper", "Kestrel"),
    *("Lumen", "Meridian", "Nimbus", "Orchard"),
)
SURNAMES = (
    *("Albrecht", "Bramley", "Castellan", "Dunmore", "Eriksen", "Fontaine", "Grunwald", "Hollis", "Ibarra", "Jansson"),
    *(
        "Keller",
        "Lindqvist",
        "Marchetti",
        "Norrington",
        "Okafor",
        "Petersen",
        "Quigley",
        "Rasmussen",
        "Steiner",
        "Thorne",
    ),
)
FIRMS = (
    *("Aldermill", "Brightwell", "Corvane", "Dunhallow", "Eastmere", "Fennick", "Goldcrest", "Hexley", "Inverrow"),
    *("Jarrow Works", "Kilnfield", "Larkspur", "Mossgate", "Northbeam", "Oakhurst", "Pellworth", "Quarrybank"),
)
TOWNS = (
    *(
        "Lisbon",
        "Ghent",
        "Aarhus",
        "Graz",
        "Turin",
        "Porto",
        "Tampere",
        "Leipzig",
        "Bilbao",
        "Utrecht",
        "Linz",
        "Gdansk",
    ),
    *("Nantes", "Basel", "Malmo", "Bergen"),
)
MONTHS = ("March", "April", "May", "June", "July", "August", "September", "October", "November")

TELL = {
    "budget": (
        "The budget for {e} is {v}.",
        "We decided on a budget of {v} for {e}.",
        "Budget for {e}: {v}.",
        "Decision: {e} gets a budget of {v}.",
        "For the record, the {e} budget is {v}.",
    ),
    "launch": (
        "{e} launches on {v}.",
        "We decided to launch {e} on {v}.",
        "The launch date of {e} is {v}.",
        "We will launch {e} on {v}.",
        "Launch of {e}: {v}.",
    ),
    "owner": (
        "{v} owns {e}.",
        "{v} is responsible for {e}.",
        "The owner of {e} is {v}.",
        "{v} is in charge of {e}.",
        "Decision: {v} owns {e}.",
    ),
    "supplier": (
        "We chose {v} as the supplier for {e}.",
        "The supplier for {e} is {v}.",
        "We decided to go with {v} as supplier for {e}.",
        "Supplier for {e}: {v}.",
    ),
    "price": (
        "The price of {e} is {v}.",
        "We decided to sell {e} at {v}.",
        "Price of {e}: {v}.",
        "{e} costs {v}.",
    ),
    "venue": (
        "{e} takes place in {v}.",
        "The venue of {e} is {v}.",
        "We decided to hold {e} in {v}.",
        "Venue for {e}: {v}.",
    ),
    "headcount": (
        "{v} people work on {e}.",
        "The headcount of {e} is {v}.",
        "Headcount for {e}: {v}.",
        "We decided on a headcount of {v} for {e}.",
    ),
}
CHANGE = {
    "budget": (
        "Change of plan: the budget for {e} is now {v}.",
        "Actually, the budget for {e} is {v}.",
        "We raised the budget for {e} to {v}.",
        "Correction: the {e} budget is {v}, not {o}.",
    ),
    "launch": (
        "Change of plan: {e} launches on {v}.",
        "Actually, {e} launches on {v}, not on {o}.",
        "We moved the launch of {e} to {v}.",
        "The launch date of {e} is now {v}.",
    ),
    "owner": (
        "{v} owns {e} from now on.",
        "Correction: the owner of {e} is {v}.",
        "{v} is now in charge of {e}.",
        "Actually, {v} owns {e}, not {o}.",
    ),
    "supplier": (
        "Change of plan: the supplier for {e} is {v}.",
        "We switched the supplier for {e} to {v}.",
        "Actually, the supplier for {e} is {v}.",
    ),
    "price": (
        "The price of {e} is now {v}.",
        "We changed the price of {e} to {v}.",
        "Correction: {e} costs {v}, not {o}.",
    ),
    "venue": (
        "Change of plan: {e} takes place in {v}.",
        "We moved {e} to {v}.",
        "The venue of {e} is now {v}.",
    ),
    "headcount": (
        "The headcount of {e} is now {v}.",
        "Actually, {v} people work on {e}.",
        "Correction: the headcount of {e} is {v}, not {o}.",
    ),
}
SUPPOSE = {
    "budget": ("What if the budget for {e} were {v}?", "Would a budget of {v} for {e} be too much?"),
    "launch": ("Could we launch {e} on {v}?", "Maybe we should launch {e} on {v}, what do you think?"),
    "owner": ("Should {v} own {e}?", "What would you say if {v} were in charge of {e}?"),
    "supplier": ("Is {v} a good supplier for {e}?", "If we took {v} as supplier for {e}, what would change?"),
    "price": ("What if {e} cost {v}?", "Should the price of {e} be {v}?"),
    "venue": ("Could {e} take place in {v}?", "How about {v} as venue for {e}?"),
    "headcount": ("Would a headcount of {v} be enough for {e}?", "What if {v} people worked on {e}?"),
}
REPORT = (
    "Somebody at the fair said that {told}",
    "A competitor claims that {told}",
    'The newspaper wrote "{told}"',
)
SMALL_TALK = (
    "Good morning!",
    "Thanks, that helps.",
    "How should I prepare for a board meeting?",
    "What makes a good pricing page?",
    "I am on the train until noon.",
    "Can you summarise what matters most for cash planning?",
)


class _Values:
    """Every value is handed out once in a life."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._used: set[str] = set()

    def next(self, attribute: str) -> str:
        while True:
            value = self._draw(attribute)
            if value not in self._used:
                self._used.add(value)
                return value

    def _draw(self, attribute: str) -> str:
        chance = self._chance
        match attribute:
            case "budget":
                return f"{chance.randrange(11, 990)},{chance.randrange(1, 10)}00 euros"
            case "launch":
                return f"{chance.randrange(1, 29)} {chance.choice(MONTHS)}"
            case "owner":
                return f"{chance.choice(('Nora', 'Emil', 'Ines', 'Piotr', 'Lea', 'Owen'))} {chance.choice(SURNAMES)}"
            case "supplier":
                return chance.choice(FIRMS)
            case "price":
                return f"{chance.randrange(12, 480)}.{chance.randrange(10, 100)} euros"
            case "venue":
                return chance.choice(TOWNS)
            case _:
                return str(chance.randrange(101, 899))


def life(seed: int, checkpoints: int = 8) -> Life:
    """One life of two threads and two people; the same seed gives the same life."""
    chance = random.Random(seed)
    return _Teller(chance, seed, checkpoints).life()


class _Teller:
    def __init__(self, chance: random.Random, seed: int, checkpoints: int) -> None:
        self._chance = chance
        self._name = f"seed {seed}"
        self._checkpoints = checkpoints
        self._values = _Values(chance)
        self._truth: dict[Key, str | tuple[str, ...] | Fate] = {}
        self._speaker: dict[Key, str] = {}
        self._ref: dict[Key, str] = {}
        self._never: set[str] = set()
        self._by_hand: set[Key] = set()
        """A person's correction counts for good: what is said later waits."""
        self._said = 0
        pairs = [(entity, attribute) for entity in ENTITIES for attribute in TELL]
        chance.shuffle(pairs)
        self._fresh = pairs

    def life(self) -> Life:
        steps: list[Step] = []
        for number in range(self._checkpoints):
            for _ in range(3):
                steps.append(self._tell())
            for _ in range(self._chance.randrange(2, 4)):
                steps += self._something(number)
            steps.append(Checkpoint(dict(self._truth)))
        return Life(self._name, tuple(steps), frozenset(self._never))

    def _something(self, number: int) -> Iterator[Step]:
        known = [key for key, truth in self._truth.items() if isinstance(truth, str) and key not in self._by_hand]
        move = self._chance.choice(
            (
                "change",
                "change",
                "suppose",
                "report",
                "talk",
                "edit",
                "delete",
                "correct",
                "retract",
                "forget",
                "dispute",
            )
            if number
            else ("suppose", "talk", "change")
        )
        if number in (2, 5) and self._chance.random() < 0.3:
            yield Restart()
        key = self._chance.choice(known)
        match move:
            case "change":
                yield self._change(key)
            case "suppose":
                yield self._suppose()
            case "report":
                yield self._report()
            case "talk":
                yield self._say(
                    self._chance.choice(THREADS), self._chance.choice(PEOPLE), self._chance.choice(SMALL_TALK)
                )
            case "edit":
                value = self._values.next(key.attribute)
                self._truth[key] = value
                yield Edit(self._ref[key], self._words(TELL, key, value), key, value)
            case "delete":
                self._truth[key] = Fate.RETRACTED
                yield Delete(self._ref[key], key)
            case "correct":
                value = self._values.next(key.attribute)
                self._truth[key] = value
                self._by_hand.add(key)
                yield Correct(key, value, self._words(TELL, key, value))
            case "retract":
                self._truth[key] = Fate.RETRACTED
                yield Retract(key)
            case "forget":
                self._truth[key] = Fate.ERASED
                yield Forget(key)
            case "dispute":
                other = next(person for person in PEOPLE if person != self._speaker[key])
                value = self._values.next(key.attribute)
                before = self._truth[key]
                assert isinstance(before, str)
                self._truth[key] = (before, value)
                yield self._say(key.thread, other, self._words(TELL, key, value), key, value)

    def _tell(self) -> Step:
        entity, attribute = self._fresh.pop()
        key = Key(self._chance.choice(THREADS), entity, attribute)
        value = self._values.next(attribute)
        who = self._chance.choice(PEOPLE)
        self._truth[key], self._speaker[key] = value, who
        said = self._say(key.thread, who, self._words(TELL, key, value), key, value)
        self._ref[key] = said.ref
        return said

    def _change(self, key: Key) -> Say:
        before, value = self._truth[key], self._values.next(key.attribute)
        self._truth[key] = value
        text = self._words(CHANGE, key, value, str(before))
        said = self._say(key.thread, self._speaker[key], text, key, value)
        self._ref[key] = said.ref
        return said

    def _suppose(self) -> Say:
        entity, attribute = self._fresh.pop()
        key = Key(self._chance.choice(THREADS), entity, attribute)
        value = self._values.next(attribute)
        self._never.add(value)
        self._truth[key] = Fate.ABSENT
        return self._say(key.thread, self._chance.choice(PEOPLE), self._words(SUPPOSE, key, value))

    def _report(self) -> Say:
        entity, attribute = self._fresh.pop()
        key = Key(self._chance.choice(THREADS), entity, attribute)
        value = self._values.next(attribute)
        self._never.add(value)
        self._truth[key] = Fate.ABSENT
        told = self._words(TELL, key, value)
        if self._chance.random() < 0.5:
            return self._say(key.thread, self._chance.choice(PEOPLE), "See below.", quoted=told)
        text = self._chance.choice(REPORT).format(told=told[0].lower() + told[1:] if told[:1] != entity[:1] else told)
        return self._say(key.thread, self._chance.choice(PEOPLE), text)

    def _say(
        self,
        thread: str,
        who: str,
        text: str,
        key: Key | None = None,
        value: str | None = None,
        quoted: str | None = None,
    ) -> Say:
        self._said += 1
        return Say(f"m{self._said}", thread, who, text, key, value, quoted)

    def _words(self, among: Mapping[str, tuple[str, ...]], key: Key, value: str, old: str = "") -> str:
        return self._chance.choice(among[key.attribute]).format(e=key.entity, v=value, o=old)
