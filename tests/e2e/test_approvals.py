"""Asked for in a chat or by mail, put before who decides, edited, sent once: the whole program, its platforms and its
mail server, from outside and without a language model."""

from __future__ import annotations

import email.utils
import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.chatends import DiscordEnd, SlackEnd
from tests.e2e.daemon import Daemon, audited, command, rows, running
from tests.e2e.farends import AUTHSERV, base_settings, body_of, relay_settings, telegram_settings
from tests.fakes.discord import FakeDiscord
from tests.fakes.mailer import send_mail
from tests.fakes.slack import FakeSlack
from tests.fakes.smtp import SmtpSink, parsed
from tests.fakes.telegram import FakeTelegram

pytestmark = pytest.mark.timeout(300)

ANN, BOB, EVE = 101, 102, 103
EXECUTIVE = "executive@company.example"
KIM = "kim@outside.example"
ASKED = f"Send a mail to {KIM} about the fair: We come to the fair."
PEOPLE = {
    "OPENEXECUTIVE_PEOPLE__ANN__NAME": "Ann",
    "OPENEXECUTIVE_PEOPLE__ANN__ROLE": "principal",
    "OPENEXECUTIVE_PEOPLE__BOB__NAME": "Bob",
}
"""No language model: wishes are understood by a small grammar."""


def in_telegram(home: Path, telegram: FakeTelegram, relay: SmtpSink) -> dict[str, str]:
    for person, name in ((ANN, "Ann"), (BOB, "Bob"), (EVE, "Eve")):
        telegram.world.add_user(person, name)
    return {
        **base_settings(home / "data"),
        **relay_settings(relay, EXECUTIVE),
        **telegram_settings(telegram),
        **PEOPLE,
        "OPENEXECUTIVE_PEOPLE__ANN__TELEGRAM": f"[{ANN}]",
        "OPENEXECUTIVE_PEOPLE__BOB__TELEGRAM": f"[{BOB}]",
    }


async def buttons(telegram: FakeTelegram, chat: int) -> tuple[int, dict[str, str], str]:
    """The question with buttons in a chat, once it is there: its number, its buttons' data, its text."""

    def found() -> list[dict[str, Any]]:
        return [one for one in telegram.world.chat(chat).messages.values() if one.get("reply_markup")]

    await telegram.deliveries.until(lambda: bool(found()), timeout=60)
    message = found()[-1]
    keys = [key for row in message["reply_markup"]["inline_keyboard"] for key in row]
    return message["message_id"], {key["text"]: key["callback_data"] for key in keys}, str(message["text"])


def to(relay: SmtpSink, address: str) -> list[EmailMessage]:
    return [parsed(one) for one in relay.mails if address in one.body["rcpt_tos"]]


def state(home: Path) -> dict[str, Any]:
    (row,) = rows(home / "data", "SELECT * FROM proposal")
    return row


async def ended(daemon: Daemon, home: Path, *states: str) -> dict[str, Any]:
    await daemon.until(lambda: state(home)["state"] in states)
    return state(home)


async def test_in_telegram_a_mail_to_an_outside_address_goes_out_once_as_it_was_edited(
    home: Path, telegram: FakeTelegram, relay: SmtpSink
) -> None:
    settings = in_telegram(home, telegram, relay)
    async with running(settings, home, "telegram") as daemon:
        telegram.world.private_message(BOB, ASKED)
        message, keys, text = await buttons(telegram, ANN)
        for words in (KIM, "We come to the fair.", "fair"):
            assert words in text
        assert set(keys) == {"Approve", "Reject", "Edit …"}
        for stranger in (EVE, BOB):  # a press that somebody made up
            telegram.world.callback_query(ANN, message, stranger, keys["Approve"])
        await daemon.until(lambda: len(audited(home / "data", "proposal_refused")) == 2)
        assert (state(home)["state"], to(relay, KIM)) == ("proposed", [])
        telegram.world.callback_query(ANN, message, ANN, keys["Edit …"])
        await telegram.deliveries.until(lambda: bool(telegram.world.forced), timeout=60)
        (_, asking), *_ = telegram.world.forced
        await daemon.until(lambda: bool(rows(home / "data", "SELECT 1 FROM cursor WHERE name LIKE 'form:%'")))
        telegram.world.message(ANN, ANN, "We come on Tuesday.", reply_to=asking)
        after = await ended(daemon, home, "executed", "failed")
        assert after["state"] == "executed"
        telegram.world.callback_query(ANN, message, ANN, keys["Approve"])
        await daemon.until(lambda: len(audited(home / "data", "proposal_refused")) == 3)
        shown = telegram.world.chat(ANN).messages[message]
        await daemon.until(lambda: "done" in str(telegram.world.chat(ANN).messages[message]["text"]))
        assert not shown.get("reply_markup", {}).get("inline_keyboard")
        await daemon.until(lambda: any("done" in one for one in telegram.texts(BOB)))
        card = await command("ledger", "card", "send_email", "--json", settings=settings, home=home)
        await daemon.settled()
    (mail,) = to(relay, KIM)
    assert body_of(mail).strip() == "We come on Tuesday."
    assert (mail["Subject"], mail["From"]) == ("The fair", EXECUTIVE)
    assert json.loads(card.out)["card"]["edited"]["count"] == 1
    told = [row["type"] for row in rows(home / "data", "SELECT type FROM audit ORDER BY id")]
    chain = ("proposal_made", "proposal_shown", "proposal_decided", "action_started", "action_executed")
    assert [each for each in told if each in chain] == list(chain)
    asked = rows(home / "data", "SELECT turn_id FROM audit WHERE type IN ('turn_started', 'action_executed')")
    assert len({row["turn_id"] for row in asked}) == 1, "the effect leads back to the words that asked for it"


async def test_nobody_answers_and_nothing_is_sent(home: Path, telegram: FakeTelegram, relay: SmtpSink) -> None:
    settings = {**in_telegram(home, telegram, relay), "OPENEXECUTIVE_LEDGER__EXPIRES_AFTER": "3s"}
    async with running(settings, home, "telegram") as daemon:
        telegram.world.private_message(BOB, ASKED)
        await buttons(telegram, ANN)
        await ended(daemon, home, "auto_no_response")
        card = await command("ledger", "card", "send_email", "--json", settings=settings, home=home)
        await daemon.until(lambda: any("nobody answered" in one for one in telegram.texts(BOB)))
        await daemon.settled()
    counted = json.loads(card.out)["card"]
    assert (counted["no_response"]["count"], counted["rejected"]["count"]) == (1, 0)
    assert to(relay, KIM) == []


async def test_killed_after_the_yes_it_is_sent_once_by_the_next_process(
    home: Path, telegram: FakeTelegram, relay: SmtpSink
) -> None:
    settings = in_telegram(home, telegram, relay)
    async with running(settings, home, "telegram") as daemon:
        telegram.world.private_message(BOB, ASKED)
        message, keys, _ = await buttons(telegram, ANN)
        telegram.world.callback_query(ANN, message, ANN, keys["Approve"])
        await daemon.until(lambda: state(home)["state"] != "proposed")
        daemon.process.kill()
        await daemon.process.wait()
    async with running(settings, home, "telegram") as daemon:
        after = await ended(daemon, home, "executed", "failed")
        await daemon.settled()
    if after["state"] == "executed":
        assert len(to(relay, KIM)) == 1
    else:  # it was on its way: whether it left cannot be asked of a mail server, and is not tried again
        assert after["failure"] == "uncertain"
        assert len(to(relay, KIM)) <= 1


class Discord(DiscordEnd):
    def question(self) -> tuple[str, str, dict[str, str]] | None:
        """Where the question stands, and its buttons."""
        for channel, place in self._fake.world.channels.items():
            for key, message in place.messages.items():
                buttons = [button for row in message.get("components") or () for button in row["components"]]
                if buttons:
                    return channel, key, {button["label"]: button["custom_id"] for button in buttons}
        return None

    def press(self, person: int, channel: str, key: str, button: str) -> None:
        self._fake.world.press(channel, self.person(person), key, button)

    def form(self) -> bool:
        opened = (one["acknowledged"] for one in self._fake.world.interactions.values())
        return any(one is not None and one["type"] == 9 for one in opened)

    def fill(self, person: int, channel: str, values: dict[str, str]) -> None:
        self._fake.world.fill(self.person(person), values)


class Slack(SlackEnd):
    def question(self) -> tuple[str, str, dict[str, str]] | None:
        for channel, place in self._fake.world.conversations.items():
            for key, message in place.messages.items():
                rows_ = [block["elements"] for block in message.get("blocks") or () if block["type"] == "actions"]
                if rows_:
                    return channel, key, {one["text"]["text"]: one["value"] for row in rows_ for one in row}
        return None

    def press(self, person: int, channel: str, key: str, button: str) -> None:
        self._fake.press(channel, self.person(person), key, button)

    def form(self) -> bool:
        return bool(self._fake.methods.views)

    def fill(self, person: int, channel: str, values: dict[str, str]) -> None:
        self._fake.submit(channel, self.person(person), values)


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_on_a_platform_with_forms_the_mail_goes_out_once_as_it_was_edited(
    home: Path, discord: FakeDiscord, slack: FakeSlack, relay: SmtpSink, platform: str
) -> None:
    end: Discord | Slack = Discord(discord) if platform == "discord" else Slack(slack)
    mail = {"OPENEXECUTIVE_CHANNELS__EMAIL__ENABLED": "true"}
    settings = {**base_settings(home / "data"), **end.settings(), **relay_settings(relay, EXECUTIVE), **mail}
    async with running(settings, home, platform) as daemon:
        end.direct(1, ASKED)
        await daemon.until(lambda: end.question() is not None)
        question = end.question()
        assert question is not None
        channel, key, keys = question
        assert set(keys) == {"Approve", "Reject", "Edit …"}
        end.press(2, channel, key, keys["Approve"])
        await daemon.until(lambda: len(audited(home / "data", "proposal_refused")) == 1)
        assert (state(home)["state"], to(relay, KIM)) == ("proposed", [])
        end.press(0, channel, key, keys["Edit …"])
        await daemon.until(end.form)
        end.fill(0, channel, {"text": "We come on Tuesday."})
        assert (await ended(daemon, home, "executed", "failed"))["state"] == "executed"
        await daemon.until(lambda: any("done" in text and "Tuesday" in text for text in end.shown()))
        assert end.question() is None, "what is decided has no buttons any more"
        await daemon.settled()
    (sent,) = to(relay, KIM)
    assert body_of(sent).strip() == "We come on Tuesday."


# --- by mail ----------------------------------------------------------------------------------------------------------


BOSS, COLLEAGUE = "ann@company.example", "bob@company.example"


class Mails:
    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.number = 0

    async def write(
        self,
        sender: str,
        text: str,
        recipient: str = EXECUTIVE,
        *,
        proven: bool = True,
        answers: EmailMessage | None = None,
    ) -> None:
        self.number += 1
        mail = EmailMessage()
        if proven:
            domain = sender.partition("@")[2]
            mail["Authentication-Results"] = (
                f"{AUTHSERV}; spf=pass smtp.mailfrom={sender}; dmarc=pass header.from={domain}"
            )
        if answers is not None:
            mail["In-Reply-To"] = mail["References"] = str(answers["Message-ID"])
        mail["From"], mail["To"], mail["Subject"] = sender, recipient, "Work"
        mail["Date"] = email.utils.localtime()
        mail["Message-ID"] = f"<a{self.number}@{sender.partition('@')[2]}>"
        mail.set_content(text)
        await send_mail(await self.daemon.smtp_port(), mail, sender, recipient)


def by_mail(home: Path, relay: SmtpSink) -> dict[str, str]:
    return {
        **base_settings(home / "data"),
        **relay_settings(relay, EXECUTIVE),
        **PEOPLE,
        "OPENEXECUTIVE_PEOPLE__ANN__EMAIL": json.dumps([BOSS]),
        "OPENEXECUTIVE_PEOPLE__BOB__EMAIL": json.dumps([COLLEAGUE]),
    }


async def test_by_mail_an_edit_comes_back_to_be_confirmed_and_goes_out_once(home: Path, relay: SmtpSink) -> None:
    settings = by_mail(home, relay)
    async with running(settings, home, "email") as daemon:
        mails = Mails(daemon)
        await mails.write(COLLEAGUE, ASKED)
        await daemon.until(lambda: len(to(relay, BOSS)) == 1)
        asked = to(relay, BOSS)[0]
        token = str(asked["Reply-To"]).strip("<>")
        assert "+t-" in token
        assert "+t-" not in str(asked["Subject"])
        assert KIM in body_of(asked)
        await mails.write(COLLEAGUE, "yes", token)  # somebody else who got hold of the mail
        await mails.write(BOSS, "yes")  # proven, but not as an answer to it
        await mails.write(BOSS, "edit\n\nWe come on Tuesday.", token, proven=False)
        await daemon.until(lambda: any("on Tuesday" in body_of(one) for one in to(relay, BOSS)))
        assert (state(home)["state"], to(relay, KIM)) == ("proposed", [])
        again = next(one for one in to(relay, BOSS) if "on Tuesday" in body_of(one))
        second = str(again["Reply-To"]).strip("<>")
        assert second != token
        await mails.write(BOSS, "Yes\n\nBest regards\nAnn", second, proven=False)
        await ended(daemon, home, "executed")
        await daemon.settled()
    (mail,) = to(relay, KIM)
    assert body_of(mail).strip() == "We come on Tuesday."
    assert [row["state"] for row in rows(home / "data", "SELECT state FROM proposal")] == ["executed"]
