"""Which backups there are, which go, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.backup import folder
from bot.backup.folder import Found
from bot.backup.making import listed
from bot.backup.nightly import following

DAY = datetime(2026, 12, 1, 2, 30, tzinfo=UTC)


def found(count: int) -> list[Found]:
    return [Found(Path(str(n)), DAY + timedelta(days=n)) for n in range(count)]


@given(st.integers(0, 12), st.integers(1, 9))
def test_the_newest_are_kept_and_each_is_told_when_it_goes(count: int, keep: int) -> None:
    backups = found(count)
    gone = folder.superfluous(backups, keep)
    assert backups[len(gone) :] == backups[-keep:] if count > keep else not gone
    nights = [DAY + timedelta(days=count + n) for n in range(keep + 2)]
    ends = folder.until(backups, keep, nights[0])
    for each, end in zip(backups, ends, strict=True):
        # The first night after which it is not among the newest any more.
        for number, night in enumerate(nights):
            later = [*backups, *(Found(Path(f"n{n}"), nights[n]) for n in range(number + 1))]
            if each in folder.superfluous(later, keep):
                assert end == night
                break


def test_names_sort_by_time_and_strangers_are_let_be(tmp_path: Path) -> None:
    for at in (DAY + timedelta(days=1), DAY):
        (tmp_path / folder.free_name(tmp_path, at)).touch()
    again = folder.free_name(tmp_path, DAY)
    (tmp_path / again).touch()
    (tmp_path / "openexecutive-notes.txt").touch()
    (tmp_path / f"{folder.name_of(DAY, 7)}{folder.UNFINISHED}").touch()
    (tmp_path / f"{folder.name_of(DAY, 7)}{folder.UNFINISHED}.db").touch()
    assert [each.made_at for each in folder.whole(tmp_path)] == [DAY, DAY, DAY + timedelta(days=1)]
    assert again.endswith(f"-1{folder.ENDING}")
    assert [name for name, _, _ in listed(tmp_path, 7, None)][-1].endswith(folder.UNFINISHED)
    assert folder.sweep(tmp_path) == 2
    assert len(list(tmp_path.iterdir())) == 4
    assert folder.whole(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("now", "zone", "expected"),
    [
        ("2026-12-01T02:29:00+00:00", "UTC", "2026-12-01T02:30:00+00:00"),
        ("2026-12-01T02:30:00+00:00", "UTC", "2026-12-02T02:30:00+00:00"),
        ("2026-12-01T12:00:00+00:00", "America/New_York", "2026-12-02T07:30:00+00:00"),
        ("2027-03-13T23:00:00-05:00", "America/New_York", "2027-03-14T07:30:00+00:00"),  # 02:30 does not exist
    ],
)
def test_it_is_made_at_night_by_the_companys_clock(now: str, zone: str, expected: str) -> None:
    assert following(datetime.fromisoformat(now), "02:30", zone) == datetime.fromisoformat(expected)
