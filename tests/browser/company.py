"""A daemon of a small company, started and spoken to as its people do it: by mail, at the terminal and by commands."""

from __future__ import annotations

import json
import os
import re
import smtplib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from bot.control.address import socket_path
from bot.control.client import call
from tests.e2e.daemon import PROGRAM, environment

PATIENCE = 60.0
"""Seconds for anything that should take one: the machine may be slow and shared."""
EXECUTIVE = "executive@localhost"
SETTINGS = """
[company]
name = "Analytical Engines"
time_zone = "Europe/London"

[people.marta]
name = "Marta Holm"
role = "principal"
email = ["marta@localhost"]
departments = ["finance"]

[people.ben]
name = "Ben Okafor"
role = "member"
email = ["ben@localhost"]
departments = ["sales"]

[people.cara]
name = "Cara Lindt"
role = "member"
email = ["cara@localhost"]
departments = ["operations"]

[people.gus]
name = "Gus Guest"
role = "guest"
email = ["gus@localhost"]

[channels.terminal]
person = "marta"

[memory]
settle = "0s"
"""


class Company:
    """`home`: an empty folder. `start` first. `roster`: a settings file, or nothing: then there is one principal, as
    after `make run`."""

    def __init__(self, home: Path, port: int, roster: str = SETTINGS) -> None:
        self.home = home
        self.data = home / "data"
        self.log = home / "log.txt"
        self.settings = {
            "OPENEXECUTIVE_DATA_DIR": str(self.data),
            "OPENEXECUTIVE_WEB__PORT": str(port),
            "OPENEXECUTIVE_CHANNELS__EMAIL__SMTP__PORT": "0",
        }
        self.url = f"http://127.0.0.1:{port}"
        (home / "openexecutive.toml").write_text(roster)
        self._process: subprocess.Popen[bytes] | None = None

    # --- its life ----------------------------------------------------------------------------------------------------

    def start(self) -> str:
        """Start the daemon; the link that it prints."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*PROGRAM, "run", "--link"], cwd=self.home, env=self._environment(), stdout=log, stderr=log
            )
        return str(self._until(lambda: self._printed(r"Open the console: (\S+)")))

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(PATIENCE) == 0, self.log.read_text()
            self._process = None

    # --- its people --------------------------------------------------------------------------------------------------

    def link(self, person: str) -> str:
        """A link that signs this person in."""
        return str(call(socket_path(self.data), "console.link", timeout=PATIENCE, person=person)["link"])

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [*PROGRAM, *arguments], cwd=self.home, env=self._environment(), capture_output=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def say(self, text: str, thread: str = "main") -> str:
        """As Marta, at the terminal; what is answered, once it was read for memories."""
        answer = self.command("chat", "-m", text, "--thread", thread)
        self.settled()
        return answer

    def mail(self, sender: str, subject: str, text: str) -> None:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = sender, EXECUTIVE, subject
        message["Message-ID"] = f"<{time.monotonic_ns()}@localhost>"
        message.set_content(text)
        where = str(self.status()["channels"]["email"]["where"])
        with smtplib.SMTP("127.0.0.1", int(where.rpartition(":")[2]), timeout=PATIENCE) as smtp:
            smtp.send_message(message)
        self.settled()

    def status(self) -> dict[str, Any]:
        return call(socket_path(self.data), "status", timeout=PATIENCE)

    def settled(self) -> None:
        """Wait until nothing is being answered or read for memories."""

        def at_rest() -> bool:
            tasks = call(socket_path(self.data), "tasks.list", timeout=PATIENCE)["tasks"]
            now = [each for each in tasks if each["kind"] == "memory.extract"]  # type: ignore[attr-defined]
            return not self.status()["lanes"] and not [e for e in now if e["state"] in ("queued", "running")]

        self._until(at_rest)

    def api(self, person: str, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        token = self.command("token", "create", person).strip()
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _environment(self) -> dict[str, str]:
        path = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
        return environment({**self.settings, "PATH": path}, self.home)

    def _printed(self, pattern: str) -> str | None:
        found = re.findall(pattern, self.log.read_text())
        return found[-1] if found else None

    def _until(self, look: Any) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := look()):
            running = self._process is not None and self._process.poll() is None
            assert running, f"the daemon ended:\n{self.log.read_text()}"
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)
        return found


def fill(company: Company) -> None:
    """What a week leaves behind: decisions, initiatives, things that wait, a schedule, documents, a department."""
    company.say("We decided to launch Atlas on 14 March.")
    company.say("We decided to raise the price of the standard plan to 49 euros in May.")
    company.say("Initiative: open the Lisbon office by September.")
    company.say("Ben will send the lease to the landlord by 11 December.")
    company.say("Change of plan: Atlas launches on 2 April.")
    company.say("Our payee is Acme Bank.")
    company.mail("ben@localhost", "Churn", "We decided to call every customer who leaves within a week.")
    company.mail("ben@localhost", "Fair", "Initiative: a stand at the Hanover fair in April.")
    company.say("/schedule morning brief every weekday at 8:30")
    company.say("remind me every Friday at 16:00 to read the numbers")
    company.settled()
