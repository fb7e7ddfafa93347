from __future__ import annotations

import mailbox
import os
from pathlib import Path

import pytest

from bot.kernel.errors import PermanentError, TransientError
from bot.kernel.ids import OutboxId
from channels.email.maildir import Maildir, host_part

KEY, OTHER = OutboxId("0123456789abcdefghjkmnpq"), OutboxId("0123456789abcdefghjkmnpr")
CONTENT = b"Subject: x\r\n\r\nHello.\r\n"


@pytest.fixture
def maildir(tmp_path: Path) -> Maildir:
    return Maildir(tmp_path / "maildir", "bot.example")


def test_any_mail_program_reads_it(maildir: Maildir) -> None:
    maildir.deliver(KEY, CONTENT)
    maildir.deliver(OTHER, CONTENT)
    box = mailbox.Maildir(maildir.root, create=False)
    assert [m["Subject"] for m in box] == ["x", "x"]
    assert (maildir.root / "new" / f"{KEY}.bot.example").read_bytes() == b"Subject: x\n\nHello.\n"
    assert list((maildir.root / "tmp").iterdir()) == []
    assert (maildir.root / "new" / f"{KEY}.bot.example").stat().st_mode & 0o777 == 0o600


def test_sending_twice_is_one_file_even_after_it_was_read_or_filed(maildir: Maildir) -> None:
    first = maildir.deliver(KEY, CONTENT)
    assert maildir.deliver(KEY, CONTENT) == first
    name = f"{KEY}.bot.example"
    (maildir.root / "new" / name).rename(maildir.root / "cur" / f"{name}:2,S")
    assert maildir.deliver(KEY, CONTENT) == first
    folder = maildir.root / ".Archive"
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True)
    (maildir.root / "cur" / f"{name}:2,S").rename(folder / "cur" / f"{name}:2,RS")
    assert maildir.deliver(KEY, CONTENT) == first
    assert list((maildir.root / "new").iterdir()) == []


def test_find_knows_for_certain(maildir: Maildir) -> None:
    assert maildir.find(KEY) is None
    at = maildir.deliver(KEY, CONTENT)
    assert maildir.find(KEY) == at
    assert maildir.find(OTHER) is None


def test_a_file_that_died_in_tmp_was_not_sent(maildir: Maildir) -> None:
    maildir.deliver(OTHER, CONTENT)
    (maildir.root / "tmp" / f"{KEY}.bot.example").write_bytes(b"half")
    assert maildir.find(KEY) is None
    maildir.deliver(KEY, CONTENT)
    assert (maildir.root / "new" / f"{KEY}.bot.example").read_bytes() == b"Subject: x\n\nHello.\n"


def test_disk_that_cannot_take_it_is_a_passing_fault(maildir: Maildir) -> None:
    maildir.root.parent.mkdir(exist_ok=True)
    maildir.root.write_text("a file where the folder should be")
    with pytest.raises(TransientError):
        maildir.deliver(KEY, CONTENT)


@pytest.mark.case(106)
@pytest.mark.parametrize("key", ["../x", "", ".", "a/b", "a:2,S", "x" * 65])
def test_case_106_a_key_is_never_a_path(maildir: Maildir, key: str) -> None:
    with pytest.raises(PermanentError):
        maildir.deliver(OutboxId(key), CONTENT)


def test_mail_can_be_taken_away(maildir: Maildir) -> None:
    maildir.deliver(KEY, CONTENT)
    assert maildir.remove(KEY)
    assert not maildir.remove(KEY)
    assert maildir.find(KEY) is None


def test_folder_is_private(maildir: Maildir) -> None:
    maildir.deliver(KEY, CONTENT)
    assert os.stat(maildir.root / "new").st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("host", "part"), [("bot.example", "bot.example"), ("a/b:c", "a_b_c"), ("..x", "x"), ("", "localhost")]
)
def test_host_part_of_a_name(host: str, part: str) -> None:
    assert host_part(host) == part
