"""Settings and health: what works and why not, what it costs, where one is signed in; each sees what is theirs."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from bot.audit import timeline
from bot.kernel.ids import BootId, PersonId, SessionId, TaskId, TurnId, new_id
from bot.llm import spending
from bot.llm.budget import Purpose, Spender, local_day
from bot.llm.model import Usage
from bot.llm.spending import Line, Sum
from bot.storage.database import Tx
from bot.tasks import store as tasks
from bot.tasks.tables import TaskState
from bot.web.console import spending_plots
from bot.web.console.access import called
from tests.memory.desk import Desk
from tests.web.console.site import Site

XSS = "<script>alert(1)</script>"
MARKS = "&lt;script&gt;"


async def _failed(desk: Desk, error: str = "no words") -> TaskId:
    """A reading for memories that was given up."""
    boot, recorder = BootId("b"), desk.rooms.recorder

    def unit(tx: Tx) -> TaskId:
        queued = tasks.enqueue(tx, "memory.extract", new_id(desk.now), {"turn": "t"}, desk.now, lane="l")
        claimed = tasks.claim_due(tx, boot, desk.now)
        assert claimed is not None
        assert claimed.id == queued
        assert tasks.bury(tx, recorder, claimed, boot, error, desk.now)
        return claimed.id

    return await desk.write(unit)


async def _state(desk: Desk, task: TaskId) -> TaskState | None:
    found = await desk.rooms.database.read(lambda c: tasks.get(c, task))
    return None if found is None else found.state


async def _spent(desk: Desk, who: str | None, tokens: int, model: str = "large", ago: int = 0) -> None:
    at = desk.now - timedelta(days=ago)
    person = None if who is None else PersonId(who)
    spender, day = Spender("t", person, SessionId("s"), TurnId("t")), local_day(at, "Europe/Oslo")
    line = Line(
        new_id(desk.now), at, day, spender, Purpose.ANSWER, model, Usage(tokens, 0), tokens * 3, estimated=False
    )  # fmt: skip
    await desk.write(lambda tx: spending.add(tx, line))


async def test_channels_say_whether_they_receive_and_why_not(site: Site) -> None:
    ada = await site.enter("ada")
    page = await ada.go("/settings")
    assert [each.text_content().split() for each in page.all(".cards h3")] == [
        ["Slack", "works"],
        ["Email", "does", "not", "receive"],
    ]
    assert "the password is <wrong>" in page.words
    assert "<wrong>" not in page.text
    assert "something is wrong" in page.words
    assert "2 parked" in page.words
    assert "up for 0:01:30" in page.words
    part = await ada.part("/settings")
    assert part.text.strip().startswith('<div id="now"'), "asked for again while the page is open"
    assert "does not receive" in part.text


async def test_what_failed_is_tried_again_or_dropped_by_principals_only(desk: Desk, site: Site) -> None:
    first, second = await _failed(desk, f"no words {XSS}"), await _failed(desk)
    boss, ada = await site.enter("boss"), await site.enter("ada")
    page = await ada.go("/settings")
    assert "Work that failed" not in page.words
    for path in (f"/settings/tasks/{first}/retry", f"/settings/tasks/{first}/drop"):
        assert (await ada.post(path, {"reason": "because"})).status == 404
    assert await _state(desk, first) is TaskState.DEAD

    page = await boss.go("/settings")
    assert page.words.count("Reading a turn for memories") == 2
    assert XSS not in page.text
    assert MARKS in page.text
    assert "It is tried again." in (await boss.post(f"/settings/tasks/{first}/retry")).words
    assert await _state(desk, first) is TaskState.QUEUED
    await boss.go("/settings")
    assert (await boss.post(f"/settings/tasks/{second}/drop", {"reason": "  "})).status == 422
    await boss.go("/settings")
    await boss.post(f"/settings/tasks/{second}/drop", {"reason": "nobody needs it"})
    assert await _state(desk, second) is None
    await boss.go("/settings")
    assert (await boss.post(f"/settings/tasks/{second}/retry")).status == 404
    entries = await desk.rooms.database.read(lambda c: timeline.newest(c, 100, ("task_changed",)))
    assert [(each.payload["state"], each.actor) for each in entries if each.actor_kind == "person"] == [
        ("queued", "boss"),
        ("dropped", "boss"),
    ]


async def test_files_backups_and_settings_are_for_principals(site: Site) -> None:
    boss, ada = await site.enter("boss"), await site.enter("ada")
    for path in ("/settings/storage", "/settings/all"):
        assert (await ada.go(path)).status == 404
    assert (await ada.go("/settings")).all("a[href='/settings/all']") == []
    part = await boss.part("/settings/storage")
    assert "<html" not in part.text
    page = await boss.go("/settings/all")
    assert "llm.api_key" in page.words
    assert [each.text_content() for each in page.all("tr:last-child td code")][-1] == "set"
    whole = await boss.go("/settings/storage")
    assert "openexecutive-20261201T030000Z.oebackup" in whole.words


async def test_everybody_sees_what_they_spent_and_principals_what_all_did(desk: Desk, site: Site) -> None:
    await _spent(desk, "ada", 1_200)
    await _spent(desk, "bob", 40_000, "bobs-own-model", ago=2)
    await _spent(desk, None, 7, ago=3)
    await _spent(desk, "ada", 500, ago=50)
    ada, boss = await site.enter("ada"), await site.enter("boss")
    page = await ada.go("/settings/spending")
    assert "1,200 tokens in 1 call, 0.00 US dollars" in page.words
    assert "bobs-own-model" not in page.text
    assert "By person" not in page.words
    assert "1,700 tokens in 2 calls" in (await ada.go("/settings/spending?days=92")).words
    page = await boss.go("/settings/spending")
    assert "41,207 tokens in 3 calls" in page.words
    assert "bobs-own-model" in page.words
    assert "nobody in particular" in page.words
    assert len(page.all("svg.plot g")) == 31
    assert len(page.all("svg.plot rect[class^=part]")) == 3
    part = await ada.part("/settings/spending/blocks")
    assert "No prompt of this time is kept" in part.text
    assert "Nothing was asked" in (await (await site.enter("guest")).go("/settings/spending?days=x")).words


async def test_browsers_are_signed_out_one_by_one(desk: Desk, site: Site) -> None:
    first, second, bob = await site.enter("ada"), await site.enter("ada"), await site.enter("bob")
    page = await first.go("/settings/access")
    ids = [each.get("value") for each in page.all("input[name=browser]")]
    assert len(ids) == 2
    (own,) = [each.getparent().getparent() for each in page.all("li .tag.good")]
    mine = own.cssselect("input[name=browser]")[0].get("value")
    (other,) = set(ids) - {mine}

    theirs = (await bob.go("/settings/access")).all("input[name=browser]")[0].get("value")
    await first.post("/sign-out", {"browser": theirs})
    assert (await bob.go("/settings/access")).status == 200, "another person's browser stays signed in"

    await first.go("/settings/access")
    answer = await first.post("/sign-out", {"browser": other})
    assert "That browser is signed out." in answer.words
    assert (await second.go("/settings/access", allow_redirects=False)).status == 303
    await first.go("/settings/access")
    await first.post("/sign-out-everywhere")
    assert (await first.go("/settings/access", allow_redirects=False)).status == 303


async def test_a_token_is_shown_once_and_works_until_it_is_revoked(desk: Desk, site: Site) -> None:
    ada, bob = await site.enter("ada"), await site.enter("bob")
    await ada.go("/settings/access")
    made = await ada.post("/settings/tokens", {"name": f"a script {XSS}", "days": "7"})
    (secret,) = [each.get("value") for each in made.all("section.made input")]
    assert secret.startswith("oe_")
    assert made.headers["Cache-Control"] == "no-store"
    assert XSS not in made.text
    page = await ada.go("/settings/access")
    assert secret not in page.text
    assert MARKS in page.text
    bearer = {"Authorization": f"Bearer {secret}"}
    anybody = site.browser()
    assert (await anybody.go("/api/memories", headers=bearer)).status == 200

    (path,) = [each.get("action") for each in page.all("form[action$='/revoke']")]
    await bob.go("/settings/access")
    assert (await bob.post(path)).status == 404
    assert (await anybody.go("/api/memories", headers=bearer)).status == 200
    await ada.go("/settings/access")
    assert "The token is revoked" in (await ada.post(path)).words
    assert (await anybody.go("/api/memories", headers=bearer)).status == 401
    await ada.go("/settings/access")
    assert (await ada.post(path)).status == 404
    assert (await ada.post("/settings/tokens", {"name": "x", "days": "9999"})).status == 422


async def test_tokens_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.web.console.access.MOST", 1)
    ada = await site.enter("ada")
    await ada.go("/settings/access")
    assert (await ada.post("/settings/tokens", {"name": "x", "days": "7"})).status == 200
    assert (await ada.post("/settings/tokens", {"name": "y", "days": "7"})).status == 409


@pytest.mark.parametrize("path", ["/settings/tokens", "/settings/tokens/x/revoke", "/settings/tasks/x/retry"])
async def test_forms_are_guarded(site: Site, path: str) -> None:
    boss = await site.enter("boss")
    assert (await boss.post(path, csrf="0" * 64)).status == 403
    assert site.refused == ["web_bad_csrf"]


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on an iPhone"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.5", "curl/8.5"),
        ("", "a browser"),
    ],
)  # fmt: skip
def test_a_browser_is_called_as_people_call_it(label: str, words: str) -> None:
    assert called(label) == words


def test_columns_fill_the_plot_and_stand_on_its_ground() -> None:
    first, last = date(2026, 11, 1), date(2026, 12, 1)
    sums = [Sum("2026-11-30", 2, Usage(100, 50, 30, 20), 7), Sum("2026-11-02", 1, Usage(10, 0), 1)]
    found = spending_plots.days(sums, first, last)
    assert (len(found.columns), found.tokens, found.calls, found.micros) == (31, 210, 3, 8)
    assert [tokens for _, tokens in found.marks] == ["0", "100", "200"]
    ground = found.marks[0][0]
    (column,) = [each for each in found.columns if each.day == date(2026, 11, 30)]
    assert [each.kind for each in column.parts] == ["cached", "fresh", "stored", "written"]
    assert column.parts[0].y + column.parts[0].height == pytest.approx(ground, abs=0.2)
    for below, above in zip(column.parts, column.parts[1:], strict=False):
        assert above.y + above.height == pytest.approx(below.y, abs=0.2)
    assert spending_plots.days([], first, last).tokens == 0
    large = spending_plots.days([Sum("2026-11-30", 1, Usage(4_200_000, 0), 7)], first, last)
    assert [tokens for _, tokens in large.marks] == ["0", "2.5 M", "5 M"]
