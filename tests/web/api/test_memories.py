"""Memories over HTTP: what a person sees, and what they may do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.memory.model import Claim, Held, Kind, Status, Visibility
from bot.people import store as people
from bot.people.model import Change
from tests.web.api.site import Site


def change(of: Claim, **values: Any) -> dict[str, Any]:
    return {"reason": "a reason", "version": of.version, **values}


WHY = {"reason": "a reason"}


# --- looking ---------------------------------------------------------------------------------------------------------


async def test_a_person_sees_their_own_conversations_and_what_the_company_sees(site: Site) -> None:
    desk = site.desk
    await desk.said(await desk.alone("ada"), "ada", "APRICOT.")
    await desk.said(await desk.room("ada", "bob"), "bob", "BANANA.", subject="b")
    await desk.said(await desk.alone("boss"), "boss", "CHERRY.", subject="c", visibility=Visibility.COMPANY)
    assert await site.statements("ada") == ["CHERRY.", "BANANA.", "APRICOT."]
    assert await site.statements("bob") == ["CHERRY.", "BANANA."]
    assert await site.statements("boss") == ["CHERRY."]
    assert await site.statements("guest") == []


async def test_the_six_letters_are_an_id_too(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    for handle in (said.handle, said.handle.upper(), said.id.upper()):
        found = await site.ask("GET", f"/api/memories/{handle}")
        assert (found.status, found.body["memory"]["id"]) == (200, said.id)
        assert (await site.ask("GET", f"/api/memories/{handle}/history")).status == 200
    changed = await site.ask("PATCH", f"/api/memories/{said.handle}", change(said, statement="We launch in May."))
    assert changed.status == 200
    assert (await site.desk.look(said)).statement == "We launch in May."
    assert (await site.ask("GET", f"/api/memories/{said.handle}", by="bob")).status == 404


async def test_a_correction_of_another_s_company_memory_is_a_memory_beside_it(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.alone("ada"), "ada", visibility=Visibility.COMPANY)
    await desk.alone("bob")
    body = change(said, statement="We launch in May.")
    done = await site.ask("PATCH", f"/api/memories/{said.id}", body, by="bob")
    assert (done.status, done.body["outcome"], done.body["memory"]["statement"]) == (
        200,
        "disputed",
        "We launch in March.",
    )
    assert done.body["memory"]["version"] == said.version + 1
    assert done.body["beside"]["statement"] == "We launch in May."
    for who in ("bob", "boss"):
        listed = (await site.ask("GET", "/api/memories?status=disputed", by=who)).body["memories"]
        assert [(each["statement"], each["promotion_by"]) for each in listed] == [
            ("We launch in May.", "bob"),
            ("We launch in March.", None),
        ]


async def test_pages_follow_each_other_without_gap_or_repeat(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    for number in range(7):
        await desk.said(room, "ada", f"Number {number}.", subject=f"n{number}")
    seen: list[str] = []
    query = "?limit=3"
    while True:
        page = (await site.ask("GET", f"/api/memories{query}")).body
        seen += [each["statement"] for each in page["memories"]]
        if page["next"] is None:
            break
        query = f"?limit=3&before={page['next']}"
    assert seen == [f"Number {number}." for number in range(6, -1, -1)]


async def test_filters_narrow_what_is_seen(site: Site) -> None:
    desk = site.desk
    room = await desk.room("ada", "bob")
    await desk.said(room, "ada", "APRICOT is red.", kind=Kind.FACT, department="sales")
    later = desk.now
    await desk.said(room, "bob", "APRICOT is round.", subject="b", domain="finance")
    await desk.said(
        room, "bob", "Move.", subject="c", kind=Kind.INITIATIVE, status=Status.PENDING, held=(Held.PAYMENT,)
    )
    for query, expected in {
        "?kind=fact": ["APRICOT is red."],
        "?kind=fact&kind=initiative": ["Move.", "APRICOT is red."],
        "?status=pending": ["Move."],
        "?department=sales": ["APRICOT is red."],
        "?domain=finance": ["APRICOT is round."],
        "?speaker=ada": ["APRICOT is red."],
        "?q=apricot%20round": ["APRICOT is round."],
        "?q=100%25": [],
        f"?until={later.isoformat().replace('+', '%2B')}": ["APRICOT is red."],
        f"?since={later.isoformat().replace('+', '%2B')}": ["Move.", "APRICOT is round."],
    }.items():
        assert await site.statements("ada", query) == expected, query


async def test_an_answer_to_a_change_shows_the_memory_as_it_is_now(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada", "Move.", kind=Kind.INITIATIVE)
    body = change(said, statement="Move to Rome.", work="active", due="2026-12-01")
    told = (await site.ask("PATCH", f"/api/memories/{said.id}", body)).body["memory"]
    assert (told["statement"], told["work"], told["due"], told["version"]) == (
        "Move to Rome.", "active", "2026-12-01", said.version + 2
    )  # fmt: skip
    again = (await site.ask("GET", f"/api/memories/{said.id}")).body["memory"]
    assert told == again


async def test_a_day_is_the_persons_own_and_means_its_beginning_or_its_end(site: Site) -> None:
    """Ada is in Berlin: what is said at 23:30 UTC was said on the next day."""
    desk, clock = site.desk, site.desk.rooms.clock
    ada = await desk.by("ada")
    assert ada.person is not None
    moved = replace(ada.person, time_zone="Europe/Berlin")
    await desk.write(lambda tx: people.apply(tx, desk.rooms.recorder, [Change(moved, "changed")], desk.now))
    first = desk.now.date() + timedelta(days=1)
    clock.advance(datetime.combine(first, time(23, 30), UTC) - desk.now)
    room = await desk.alone("ada")
    midnight = datetime.combine(first, time(), ZoneInfo("Europe/Berlin")).astimezone(UTC) + timedelta(days=1)
    await desk.said(room, "ada", "For a day.", valid_from=midnight, valid_to=midnight + timedelta(days=1))
    day, second, third = (first + timedelta(days=days) for days in (0, 1, 2))
    for query, seen in {
        f"?since={second}": True,
        f"?since={third}": False,
        f"?until={second}": True,
        f"?until={day}": False,
        f"?known={day}": False,
        f"?known={second}": True,
        f"?as_of={day}": False,
        f"?as_of={second}": True,
        f"?as_of={third}": False,
    }.items():
        assert await site.statements("ada", query) == (["For a day."] if seen else []), query


async def test_what_is_not_understood_is_told_in_words(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada", "Move.", kind=Kind.INITIATIVE)
    moment = "has to be a day like 2026-03-01, or an instant with its zone like 2026-03-01T12:00:00Z"
    for query, told in {
        "?as_of=yesterday": f"as_of: {moment}",
        "?known=2026-03-01T12:00:00": f"known: {moment}",
        "?since=0001-01-01T00:00:00%2B14:00": f"since: {moment}",
        "?until=9999-12-31": "9999-12-31 is too far away",
        "?kind=wish": "kind: has to be decision, initiative, advice, fact or preference",
        "?limit=0": "limit: has to be 1 or more",
        "?limit=many": "limit: has to be a whole number",
        "?colour=red": "colour: is not known here",
    }.items():
        answer = await site.ask("GET", f"/api/memories{query}")
        assert answer.status == 422
        assert told in answer.body["message"], query
    for values, told in (
        ({"due": "tomorrow"}, "due: has to be a day like 2026-03-01"),
        ({"work": "asleep"}, "work: has to be proposed, active, blocked, completed or dropped"),
        ({"reason": None}, "reason: has to be a text"),
        ({"reason": "x" * 501}, "reason: is too long: 500 at most"),
    ):
        answer = await site.ask("PATCH", f"/api/memories/{said.id}", change(said, **values))
        assert (answer.status, answer.body["message"]) == (422, told)


async def test_what_was_known_at_an_instant_is_told_as_it_was_known(site: Site) -> None:
    desk = site.desk
    room = await desk.alone("ada")
    old = await desk.said(room, "ada", "In March.")
    between = desk.now
    desk.rooms.clock.advance(timedelta(days=1))
    new = await desk.said(room, "ada", "In April.", status=Status.PENDING, held=(Held.OUTRANKED,), messages=("m2",))
    await desk.do("ada", "accept", new)
    instant = between.isoformat().replace("+", "%2B")
    assert await site.statements("ada", f"?known={instant}") == ["In March."]
    assert await site.statements("ada", f"?as_of={instant}") == ["In March."]
    now = desk.now.isoformat().replace("+", "%2B")
    assert await site.statements("ada", f"?known={now}") == ["In April."]
    assert (await desk.look(old)).status is Status.SUPERSEDED
    (then,) = (await site.ask("GET", f"/api/memories?known={instant}")).body["memories"]
    assert (then["status"], then["replaced_by"]) == ("active", None)


async def test_a_corrected_memory_is_told_as_it_was_known_but_not_to_who_was_not_there(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.room("boss", "ada"), "ada", "The salaries are 5.")
    between = desk.now.isoformat().replace("+", "%2B")
    desk.rooms.clock.advance(timedelta(days=1))
    await desk.do("ada", "correct", said, "We launch.")
    await desk.do("boss", "promote", said)
    assert await site.statements("ada", f"?known={between}") == ["The salaries are 5."]
    assert await site.statements("bob", f"?known={between}") == ["We launch."]


async def test_one_memory_with_its_words_its_history_and_where_it_stood(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.alone("ada"), "ada")
    await desk.do("ada", "correct", said, "We launch in April.")
    one = (await site.ask("GET", f"/api/memories/{said.id}")).body
    assert one["memory"]["statement"] == "We launch in April."
    assert [each["quote"] for each in one["evidence"]] == ["We launch in March."]
    events = (await site.ask("GET", f"/api/memories/{said.id}/history")).body["events"]
    assert [(each["op"], each["actor"]) for each in events] == [("written", "test/1"), ("edited", "ada")]
    assert events[1]["before"]["statement"] == "We launch in March."
    assert (await site.ask("GET", f"/api/memories/{said.id}/shown")).body == {"answers": [], "others": 0}


async def test_who_was_not_there_sees_no_words_and_no_session_of_what_the_company_sees(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.room("boss", "ada"), "ada", "The salaries are 5.")
    await desk.do("ada", "correct", said, "We launch.")
    await desk.do("boss", "promote", said)
    for path in ("", "/history", "/shown"):
        answer = await site.ask("GET", f"/api/memories/{said.id}{path}", by="bob")
        assert answer.status == 200
        assert "salaries" not in str(answer.body), path
        assert said.session not in str(answer.body), path
    assert "salaries" in str((await site.ask("GET", f"/api/memories/{said.id}/history", by="ada")).body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("GET", "/history", None),
        ("GET", "/shown", None),
        ("PATCH", "", {**WHY, "version": 1, "statement": "No."}),
        ("DELETE", "", WHY),
        *(
            ("POST", f"/{name}", WHY)
            for name in ("promote", "demote", "retract", "restore", "accept", "reject", "keep")
        ),
    ],
)
async def test_another_persons_id_is_no_id_in_any_way(site: Site, method: str, path: str, body: object) -> None:
    desk = site.desk
    said = await desk.said(await desk.alone("ada"), "ada")
    for by in ("bob", "boss", "guest"):
        foreign = await site.ask(method, f"/api/memories/{said.id}{path}", body, by=by)
        unknown = await site.ask(method, f"/api/memories/{said.id[:-1]}0{path}", body, by=by)
        assert (foreign.status, foreign.body) == (unknown.status, unknown.body) == (404, foreign.body)
    assert site.refused == ["api_not_found"] * 6
    assert (await desk.look(said)).version == 1
    assert site.eraser.erased == []


async def test_what_is_read_is_recorded_as_the_persons(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    await site.ask("GET", "/api/memories")
    await site.ask("GET", f"/api/memories/{said.id}")
    await site.ask("GET", "/api/memories", by="guest")
    assert await site.desk.audited() == [("memory_viewed", "ada")] * 2


# --- changing --------------------------------------------------------------------------------------------------------


async def test_a_change_needs_the_version_that_was_seen(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.alone("ada"), "ada")
    path = f"/api/memories/{said.id}"
    answer = await site.ask("PATCH", path, change(said, statement="We launch in April."))
    assert (answer.status, answer.body["outcome"], answer.body["memory"]["version"]) == (200, "done", 2)
    again = await site.ask("PATCH", path, change(said, statement="We launch in May."))
    assert (again.status, again.body["code"]) == (409, "conflict")
    assert (await desk.look(said)).statement == "We launch in April."


async def test_several_changes_are_made_together_or_not_at_all(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.alone("ada"), "ada", "Move.", kind=Kind.INITIATIVE)
    path = f"/api/memories/{said.id}"
    answer = await site.ask("PATCH", path, change(said, statement="Move soon.", owner="guest"))
    assert answer.status == 422
    assert (await desk.look(said)).version == 1
    answer = await site.ask(
        "PATCH", path, change(said, statement="Move soon.", owner="bob", due="2026-05-01", work="blocked")
    )
    memory = answer.body["memory"]
    assert (memory["statement"], memory["owner"], memory["due"], memory["work"]) == (
        "Move soon.",
        "bob",
        "2026-05-01",
        "blocked",
    )
    answer = await site.ask("PATCH", path, {**WHY, "version": memory["version"], "owner": None})
    assert answer.body["memory"]["owner"] is None
    assert answer.body["memory"]["due"] == "2026-05-01"


async def test_a_status_is_moved_and_moved_back(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    path = f"/api/memories/{said.id}"
    version = 1
    for status in ("retracted", "active"):
        answer = await site.ask("PATCH", path, {**WHY, "version": version, "status": status})
        assert answer.body["memory"]["status"] == status
        version = answer.body["memory"]["version"]


async def test_what_another_said_is_disputed(site: Site) -> None:
    desk = site.desk
    said = await desk.said(await desk.room("ada", "bob"), "ada")
    answer = await site.ask("PATCH", f"/api/memories/{said.id}", change(said, statement="In May."), by="bob")
    assert (answer.status, answer.body["outcome"]) == (200, "disputed")
    answer = await site.ask("DELETE", f"/api/memories/{said.id}", WHY, by="bob")
    assert answer.status == 409
    assert site.eraser.erased == []


async def test_a_members_promotion_waits_for_the_principal(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    path = f"/api/memories/{said.id}"
    answer = await site.ask("POST", f"{path}/promote", WHY)
    assert (answer.status, answer.body["outcome"]) == (202, "asked")
    assert await site.statements("boss", "?asked=true") == ["We launch in March."]
    assert (await site.ask("POST", f"{path}/accept", WHY, by="boss")).status == 200
    assert await site.statements("bob") == ["We launch in March."]


async def test_what_a_person_may_not_do_is_refused_and_recorded(site: Site) -> None:
    said = await site.desk.said(await site.desk.room("ada", "bob"), "ada")
    answer = await site.ask("POST", f"/api/memories/{said.id}/promote", WHY, by="bob")
    assert (answer.status, answer.body["code"]) == (403, "not_allowed")
    assert site.refused == ["api_not_allowed"]


async def test_forgetting_tells_what_vanished(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    answer = await site.ask("DELETE", f"/api/memories/{said.id}", WHY)
    assert answer.body == {
        "outcome": "forgotten",
        "memory": None,
        "beside": None,
        "vanished": {"memories": 1, "messages": 1},
    }
    assert site.eraser.erased == [said.id]
    assert site.eraser.rung == 1


# --- requests that are wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({}, "reason"),
        ({"reason": "x"}, "version"),
        ({"reason": "x", "version": 1}, "nothing is to be changed"),
        ({"reason": " ", "version": 1, "statement": "x"}, "say why"),
        ({"reason": "x", "version": 1, "statement": "  "}, "sentence"),
        ({"reason": "x", "version": 1, "trust": "proven"}, "trust"),
        ({"reason": "x", "version": 1, "visibility": "company"}, "visibility"),
        ({"reason": "x", "version": 1, "status": "erased"}, "status"),
        ({"reason": "x", "version": "1; DROP", "statement": "x"}, "version"),
        ({"reason": "x" * 501, "version": 1, "statement": "x"}, "reason"),
        ([], "body"),
    ],
)
async def test_an_unclear_change_is_refused_by_name(site: Site, body: object, names: str) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    answer = await site.ask("PATCH", f"/api/memories/{said.id}", body)
    assert answer.status == 422
    assert names in answer.body["message"]
    assert (await site.desk.look(said)).version == 1


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1000", "limit=x", "kind=plan", "since=yesterday", "since=2026-13-01", "x=1", "q=a&q=b"]
)
async def test_an_unclear_query_is_refused(site: Site, query: str) -> None:
    assert (await site.ask("GET", f"/api/memories?{query}")).status == 422


async def test_only_json_is_taken_and_only_so_much(site: Site) -> None:
    said = await site.desk.said(await site.desk.alone("ada"), "ada")
    path = f"/api/memories/{said.id}/retract"
    assert (await site.ask("POST", path, data="reason=x")).status == 415
    assert (await site.ask("POST", path, data=b"{", headers={"Content-Type": "application/json"})).status == 422
    big = b'{"reason": "' + b"x" * 70_000 + b'"}'
    assert (await site.ask("POST", path, data=big, headers={"Content-Type": "application/json"})).status == 413
    assert (await site.desk.look(said)).version == 1


async def test_an_unknown_path_or_method_is_told_so(site: Site) -> None:
    assert (await site.ask("GET", "/api/nothing")).status == 404
    answer = await site.ask("PUT", "/api/memories", {})
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
