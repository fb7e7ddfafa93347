"""Schedules and a person's day over the API: one's own, in words, and nothing of anybody else's."""

from __future__ import annotations

from tests.web.api.site import Site

WISH = {"sentence": "remind me every weekday at 8:30 to stand up"}


async def made(site: Site, by: str = "ada") -> str:
    answer = await site.ask("POST", "/api/schedules", WISH, by=by)
    assert answer.status == 200, answer.body
    return str(answer.body["schedule"]["name"])


async def test_one_is_made_in_words_and_read_with_its_next_dates(site: Site) -> None:
    name = await made(site)
    one = (await site.ask("GET", f"/api/schedules/{name}")).body
    assert (one["kind"], one["text"], one["rule"], one["state"]) == ("reminder", "stand up", "30 8 * * 1-5", "active")
    assert [each[:16] for each in one["next"]] == ["2026-03-03T08:30", "2026-03-04T08:30", "2026-03-05T08:30"]
    listed = (await site.ask("GET", "/api/schedules")).body
    assert ([each["name"] for each in listed["schedules"]], listed["stopped"]) == ([name], None)


async def test_what_is_unclear_is_refused_with_a_question(site: Site) -> None:
    answer = await site.ask("POST", "/api/schedules", {"sentence": "remind me at 3 to eat"})
    assert (answer.status, answer.body["code"]) == (422, "unclear")
    assert "03:00 or 15:00" in answer.body["message"]
    often = await site.ask("POST", "/api/schedules", {"sentence": "remind me every 5 minutes to drink"})
    assert (often.status, often.body["code"]) == (400, "refused")


async def test_it_is_paused_resumed_run_removed_and_brought_back(site: Site) -> None:
    name = await made(site)
    states = []
    for act in ("pause", "resume", "run", "remove", "undo"):
        answer = await site.ask("POST", f"/api/schedules/{name}/{act}")
        assert answer.status == 200, answer.body
        states.append((answer.body["state"], answer.body["next"][0][:16] if answer.body["next"] else None))
    assert states == [
        ("paused", None), ("active", "2026-03-03T08:30"), ("active", "2026-03-02T09:00"), ("removed", None),
        ("active", "2026-03-03T08:30"),
    ]  # fmt: skip


async def test_others_see_and_change_nothing_of_it_and_a_principal_sees_all(site: Site) -> None:
    name = await made(site)
    for method, path in (("GET", f"/api/schedules/{name}"), ("POST", f"/api/schedules/{name}/pause")):
        assert (await site.ask(method, path, by="bob")).status == 404
    assert (await site.ask("GET", "/api/schedules", by="bob")).body["schedules"] == []
    assert (await site.ask("GET", "/api/schedules?everybody=true", by="bob")).status == 403
    everybody = (await site.ask("GET", "/api/schedules?everybody=true", by="boss")).body
    assert [each["name"] for each in everybody["schedules"]] == [name]
    assert (await site.ask("GET", "/api/schedules", by=None)).status == 401


async def test_what_cannot_be_proposed_here_is_refused(site: Site) -> None:
    wish = {"sentence": "remind Bob on Friday to sign"}
    answer = await site.ask("POST", "/api/schedules", wish)
    assert answer.status == 400
    assert "needs a yes" in answer.body["message"]


async def test_a_day_shows_what_comes_next_and_what_can_be_switched_on(site: Site) -> None:
    name = await made(site)
    day = (await site.ask("GET", "/api/today")).body
    assert (day["day"], [each["name"] for each in day["next"]]) == ("2026-03-02", [name])
    assert "morning_brief" in day["off"]
    assert "morning brief every weekday at 8:30" in day["offers"]
    assert (await site.ask("GET", "/api/today", by="bob")).body["next"] == []
