"""The profile by the operator: field by field, and as one file."""

from __future__ import annotations

import pytest

from bot.company.model import ProfileError
from bot.control.wire import MalformedError
from tests.control.desk import Desk


async def block(desk: Desk, *, public: bool = False) -> str:
    return str((await desk.ask("company.show", public=public))["block"])


async def test_a_new_field_has_the_audience_of_its_kind(desk: Desk) -> None:
    await desk.ask("company.set", field="business", lines=["We sell anvils."])
    await desk.ask("company.set", field="goals", lines=["Grow", "Last"])
    assert await block(desk) == "# The company\n\nName: Acme\nBusiness: We sell anvils.\nGoals:\n- Grow\n- Last\n"
    assert await block(desk, public=True) == "# The company\n\nName: Acme\nBusiness: We sell anvils.\n"


async def test_a_change_of_words_keeps_the_audience_and_one_of_audience_the_words(desk: Desk) -> None:
    await desk.ask("company.set", field="stage", lines=["seed"], audience="public")
    await desk.ask("company.set", field="stage", lines=["series A"])
    assert "series A" in await block(desk, public=True)
    await desk.ask("company.set", field="stage", lines=[], audience="company")
    assert "Stage" not in await block(desk, public=True)
    assert "series A" in await block(desk)
    versions = (await desk.ask("company.show", history="stage"))["fields"]
    assert isinstance(versions, list)
    assert len(versions) == 3


async def test_what_is_exported_can_be_imported_again(desk: Desk) -> None:
    await desk.ask("company.set", field="stage", lines=["seed"])
    text = (await desk.ask("company.export"))["text"]
    assert (await desk.ask("company.import", text=text))["changed"] == []
    changed = str(text).replace("seed", "series A")
    assert (await desk.ask("company.import", text=changed))["changed"] == ["stage"]


async def test_an_import_that_replaces_takes_away_what_the_file_has_not(desk: Desk) -> None:
    await desk.ask("company.set", field="stage", lines=["seed"])
    file = '[public]\nname = "Emca"\n'
    assert (await desk.ask("company.import", text=file))["changed"] == ["name"]
    assert (await desk.ask("company.import", text=file, replace=True))["changed"] == ["stage"]
    assert await block(desk) == "# The company\n\nName: Emca\n"


async def test_a_file_with_a_fault_changes_nothing(desk: Desk) -> None:
    with pytest.raises(ProfileError):
        await desk.ask("company.import", text='[public]\nname = "Emca"\ngoals = 5\n')
    assert await block(desk) == "# The company\n\nName: Acme\n"


async def test_every_change_is_audited_as_the_operators(desk: Desk) -> None:
    await desk.ask("company.set", field="stage", lines=["seed"])
    await desk.ask("company.unset", field="stage")
    assert (await desk.audited())[-2:] == [("company_changed", "operator")] * 2


async def test_what_is_not_there_cannot_be_taken_away(desk: Desk) -> None:
    with pytest.raises(ProfileError, match="no field stage"):
        await desk.ask("company.unset", field="stage")
    with pytest.raises(MalformedError):
        await desk.ask("company.set", field="stage", lines=["x"], audience="everyone")
