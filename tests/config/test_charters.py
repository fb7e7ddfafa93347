"""Who is consulted: what comes with the program, and what settings add, switch off and change."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from config.charters import built_in, charters, parse
from config.faults import SettingsError
from config.schema import BUILT_IN_SPECIALISTS
from tests.config.conftest import Reader

HEAD = '+++\ntitle = "Tax"\ntier = "light"\ndomains = ["tax"]\ndepartments = []\nwhen = "taxes"\n+++\n'


def test_every_charter_that_comes_with_the_program_is_named_and_complete() -> None:
    there = {path.name.removesuffix(".md") for path in files("config").joinpath("specialists").iterdir()}
    assert there == set(BUILT_IN_SPECIALISTS) == set(built_in())
    for charter in built_in().values():
        assert charter.title
        assert charter.domains
        assert len(charter.when) > 60
        for part in ("# Expertise", "# What you must be told", "# How you answer", "# What you never do"):
            assert part in charter.text, charter.name


def test_without_settings_all_of_them_are_there_in_order(read: Reader) -> None:
    assert [charter.name for charter in charters(read("").settings)] == sorted(BUILT_IN_SPECIALISTS)


def test_one_is_added_one_switched_off_and_one_changed(read: Reader) -> None:
    text = (
        '[specialists.tax]\ntitle = "Tax"\nwhen = "taxes"\ncharter = "You know taxes."\n'
        "[specialists.board]\nenabled = false\n"
        '[specialists.finance]\ntier = "deep"\ndomains = []\n'
    )
    found = {charter.name: charter for charter in charters(read(text).settings)}
    assert found.keys() == (set(BUILT_IN_SPECIALISTS) | {"tax"}) - {"board"}
    assert (found["tax"].tier, found["tax"].text, found["tax"].domains) == ("standard", "You know taxes.\n", ())
    assert (found["finance"].tier, found["finance"].domains) == ("deep", ())
    assert found["finance"].text == built_in()["finance"].text


def test_a_charter_may_be_a_file_beside_the_settings(read: Reader) -> None:
    (read.folder / "people.md").write_text("You know our people.", encoding="utf-8")
    found = {c.name: c for c in charters(read('[specialists.people]\ncharter_file = "people.md"').settings)}
    assert found["people"].text == "You know our people.\n"
    assert found["people"].when == built_in()["people"].when


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"x" * 20_001])
def test_a_charter_file_that_cannot_be_read_is_a_fault(read: Reader, content: bytes | None) -> None:
    path = Path(read.folder / "x.md")
    if content is not None:
        path.write_bytes(content)
    settings = read('[specialists.people]\ncharter_file = "x.md"').settings
    with pytest.raises(SettingsError) as caught:
        charters(settings)
    (fault,) = caught.value.faults
    assert fault.key == "specialists.people.charter_file"
    assert fault.where == str(path)


def test_a_new_one_needs_its_parts_and_a_near_name_is_asked_about(read: Reader) -> None:
    faults = read.faults('[specialists.finanse]\ntier = "deep"\n')
    assert [fault.key for fault in faults] == [f"specialists.finanse.{key}" for key in ("title", "when", "charter")]
    assert "did you mean finance?" in faults[0].problem


@pytest.mark.parametrize("text", ["[specialists.finanse]\n", "[specialists.finanse]\nenabled = false\n"])
def test_a_name_of_no_specialist_is_a_fault_with_an_empty_table_and_switched_off_too(read: Reader, text: str) -> None:
    assert "did you mean finance?" in read.faults(text)[0].problem


def test_an_empty_table_of_a_known_name_changes_nothing(read: Reader) -> None:
    assert charters(read("[specialists.finance]\n").settings) == charters(read("").settings)


def test_text_and_file_together_are_refused(read: Reader) -> None:
    fault = read.fault('[specialists.board]\ncharter = "x"\ncharter_file = "y"')
    assert fault.key == "specialists.board.charter"


def test_a_name_that_is_none_and_a_key_that_is_none_are_told(read: Reader) -> None:
    assert read.fault('[specialists."No Name"]\ntier = "deep"').problem == "not a name for a specialist"
    assert "did you mean specialists.board.tier?" in read.fault("[specialists.board]\nteir = 1").problem


def test_one_is_set_by_the_environment(read: Reader) -> None:
    settings = read("", {"OPENEXECUTIVE_SPECIALISTS__BOARD__ENABLED": "false"}).settings
    assert "board" not in {charter.name for charter in charters(settings)}


@pytest.mark.parametrize(
    "whole", ["no head", "x" + HEAD + "text", HEAD.replace("light", "huge") + "text", HEAD.replace("when", "wenn")]
)
def test_a_charter_that_is_not_well_formed_is_refused(whole: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse("tax", whole)
