from __future__ import annotations

import pytest

from config.rules import local_mail_mode
from config.schema import Settings
from tests.config.conftest import Reader

IMAP = (
    '[channels.email]\naddress = "e@example.org"\n[channels.email.relay]\nhost = "127.0.0.1"\n'
    '[channels.email.imap]\nhost = "mail.example.org"\n'
)
OAUTH = (
    '[channels.email.imap]\nhost = "mail.example.org"\nauth = "oauth"\n[channels.email.oauth]\nclient_id = "c"\n'
    'device_url = "https://id.example/d"\ntoken_url = "https://id.example/t"\nscope = "s"\n'
)
ANNA = '[people.anna]\nname = "Anna"\nrole = "principal"\n'


@pytest.mark.parametrize(
    ("text", "key", "word"),
    [
        (
            ANNA + 'email = ["x@example.org"]\n[people.bob]\nname = "Bob"\nemail = ["X@Example.org"]',
            "people.bob.email",
            "people.anna",
        ),
        (ANNA + 'telegram = [5]\n[people.bob]\nname = "Bob"\ntelegram = [6, 5]', "people.bob.telegram", "5"),
        (ANNA + 'email = ["executive@localhost"]', "people.anna.email", "own address"),
        ('[channels.terminal]\nperson = "anna"', "channels.terminal.person", "nobody"),
        (ANNA + '[channels.terminal]\nperson = "ana"', "channels.terminal.person", "did you mean anna?"),
        ('[web]\nhost = "0.0.0.0"', "web.public_url", "not loopback"),
        ('[web]\nhost = "::"\nallowed_hosts = ["executive.example.org"]', "web.public_url", "sign in"),
        ('[web]\nhost = "::"\nconsole = false', "web.allowed_hosts", "not loopback"),
        ('[web]\npublic_url = "http://executive.example.org"', "web.public_url", "https"),
        ('[web]\npublic_url = "https://executive.example.org/console"', "web.public_url", "path"),
        (
            "[ledger.classes.send_mail]\ntwo_persons = true",
            "ledger.classes.send_mail",
            "did you mean send_email?",
        ),
        (
            ANNA + '[ledger.classes.send_email]\napprovers = ["bob"]',
            "ledger.classes.send_email.approvers",
            "bob is nobody",
        ),
        (ANNA + '[ledger.departments.finance]\nhead = "bob"', "ledger.departments.finance.head", "bob is nobody"),
        (ANNA + '[ledger.deputies.anna]\nperson = "bob"', "ledger.deputies.anna.person", "bob is nobody"),
        ("[web]\nport = 2525", "web.port", "the same"),
        ('[llm]\nprovider = "anthropic"', "llm.api_key", "missing"),
        (
            '[llm]\napi_key = "k"\n[llm.models]\nlight = "tiny"',
            "llm.models.light",
            "no table in llm.prices",
        ),
        (
            '[llm]\nbase_url = "http://127.0.0.1:1"\n[llm.models]\ndeep_fallback = "tiny"',
            "llm.models.deep_fallback",
            "no table in llm.prices",
        ),
        ("[channels.telegram]\nenabled = true", "channels.telegram.token", "missing"),
        ("[channels.discord]\nenabled = true", "channels.discord.token", "missing"),
        ('[channels.discord]\ngateway_url = "https://x.example"', "channels.discord.gateway_url", "websocket"),
        ('[channels.slack]\nenabled = true\napp_token = "xapp-1"', "channels.slack.bot_token", "missing"),
        (
            '[channels.slack]\nenabled = true\napp_token = "xoxb-1"\nbot_token = "xoxb-1"',
            "channels.slack.app_token",
            "kind",
        ),
        ('[channels.telegram]\ntoken = "1:a b"', "channels.telegram.token", "characters"),
        ('[channels.telegram]\ntoken = "1:a/b"', "channels.telegram.token", "characters"),
        ('[channels.email]\nproof = "header"', "channels.email.authserv_id", "missing"),
        ('[channels.email.smtp]\ncertificate = "a.pem"', "channels.email.smtp.key", "missing"),
        ('[channels.email.smtp]\nkey = "a.pem"', "channels.email.smtp.certificate", "missing"),
        ('[channels.email.relay]\nusername = "a"', "channels.email.relay.password", "missing"),
        (
            (
                '[channels.email]\naddress="e@example.org"\n[channels.email.relay]\nhost = "mail.example.org"\n'
                'username = "a"\npassword = "b"\nsecurity = "none"'
            ),
            "channels.email.relay.security",
            "in the clear",
        ),
        ("[channels.email.smtp]\nenabled = false", "channels.email.smtp.enabled", "no mail would come in"),
        (IMAP, "channels.email.imap.password", "missing"),
        (IMAP + 'password = "b"\nsecurity = "none"', "channels.email.imap.security", "in the clear"),
        (IMAP + 'password = "b"\nprocessed = "inbox"', "channels.email.imap.processed", "is the folder"),
        (OAUTH.replace("client_id", "# client_id"), "channels.email.oauth.client_id", "missing"),
        (OAUTH.replace("https://id.example/t", "http://id.example/t"), "channels.email.oauth.token_url", "clear"),
        (
            OAUTH + '[channels.email.relay]\nhost = "127.0.0.1"\nauth = "oauth"',
            "channels.email.relay.username",
            "missing",
        ),
    ],
)
def test_what_keys_decide_together(read: Reader, text: str, key: str, word: str) -> None:
    fault = read.fault(text)
    assert fault.key == key
    assert word in fault.problem


WEBHOOK = '[channels.telegram]\nenabled = true\ntoken = "1:a"\nmode = "webhook"\n'


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (WEBHOOK, {"channels.telegram.public_url", "channels.telegram.webhook_secret"}),
        (WEBHOOK + 'webhook_secret = "s"\npublic_url = "http://a.example"', {"channels.telegram.public_url"}),
        (
            WEBHOOK + 'webhook_secret = "with space"\npublic_url = "https://a.example"',
            {"channels.telegram.webhook_secret"},
        ),
        (
            WEBHOOK + f'webhook_secret = "{"s" * 257}"\npublic_url = "https://a.example"',
            {"channels.telegram.webhook_secret"},
        ),
        (WEBHOOK + 'webhook_secret = "s"\npublic_url = "https://a.example"\n[web]\nenabled = false', {"web.enabled"}),
    ],
)
def test_webhook_mode_needs_all_its_parts(read: Reader, text: str, keys: set[str]) -> None:
    assert {fault.key for fault in read.faults(text)} == keys


@pytest.mark.parametrize(
    "text",
    [
        WEBHOOK + 'webhook_secret = "s_-9"\npublic_url = "https://a.example"',
        WEBHOOK.replace("enabled = true", "enabled = false"),
        '[llm]\nprovider = "anthropic"\nbase_url = "http://127.0.0.1:1"',
        '[web]\nhost = "0.0.0.0"\nconsole = false\nallowed_hosts = ["e.example.org", "10.0.0.1:8321", "[::1]:8321"]',
        '[web]\nhost = "0.0.0.0"\npublic_url = "https://executive.example.org:8443/"',
        "[web]\nport = 0\n[channels.email.smtp]\nport = 0",
        "[web]\nport = 2525\n[channels.email]\nenabled = false",
        IMAP + 'password = "b"\n[channels.email.smtp]\nenabled = false\n[web]\nport = 2525',
        '[channels.email.relay]\nhost = "127.0.0.1"\nusername = "a"\npassword = "b"\nsecurity = "none"',
        ANNA + 'email = ["a@example.org", "A@example.org"]\n[channels.terminal]\nperson = "anna"',
        '[channels.terminal]\nperson = "principal"',
        IMAP + 'password = "b"\n[channels.email.smtp]\nenabled = false',
        OAUTH + '[channels.email.relay]\nhost = "127.0.0.1"\nauth = "oauth"\nusername = "e"',
        '[channels.email.smtp]\ntrusted_peers = ["10.1.0.0/16", "fd00::/8", "192.0.2.7"]',
    ],
)
def test_neighbours_that_are_right(read: Reader, text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[people.bob]\nname = "Bob"', "people"),
        ('[channels.email.relay]\nhost = "mail.example.org"', "channels.email.address"),
        ('[channels.email.imap]\nhost = "127.0.0.1"\npassword = "b"', "channels.email.relay.host"),
        (
            '[channels.email]\naddress = "the-executive-of-the-company@example.org"\nrelay = {host = "127.0.0.1"}',
            "channels.email.reply_tokens",
        ),
        (
            "[channels.email]\nenabled = false\n[channels.terminal]\nenabled = false\n[channels.web]\nenabled = false",
            "channels",
        ),
        ("[channels.email]\nenabled = false\n[channels.terminal]\nenabled = false\n[web]\nconsole = false", "channels"),
    ],
)
def test_what_is_odd_but_possible_is_a_warning(read: Reader, text: str, key: str) -> None:
    assert [warning.key for warning in read(text).warnings] == [key]


def test_a_rule_about_a_key_that_is_itself_wrong_stays_silent(read: Reader) -> None:
    assert [f.key for f in read.faults("[channels.telegram]\nenabled = true\ntoken = 5")] == ["channels.telegram.token"]


@pytest.mark.parametrize(
    ("given", "in_container", "local"),
    [
        ({}, False, True),
        ({"channels": {"email": {"smtp": {"host": "::1"}}}}, False, True),
        ({"channels": {"email": {"smtp": {"host": "localhost"}}}}, False, True),
        ({}, True, False),
        ({"channels": {"email": {"enabled": False}}}, False, False),
        ({"channels": {"email": {"smtp": {"host": "0.0.0.0"}}}}, False, False),
        ({"channels": {"email": {"smtp": {"host": "::"}}}}, False, False),
        ({"channels": {"email": {"smtp": {"host": "mail.example.org"}}}}, False, False),
        ({"channels": {"email": {"relay": {"host": "mail.example.org"}}}}, False, False),
        ({"channels": {"email": {"imap": {"host": "mail.example.org", "password": "p"}}}}, False, False),
        ({"channels": {"email": {"proof": "dmarc"}}}, False, False),
        ({"channels": {"telegram": {"enabled": True, "token": "1:a"}}}, False, False),
        ({"web": {"public_url": "https://executive.example.org"}}, False, False),
        ({"web": {"host": "0.0.0.0", "public_url": "https://executive.example.org"}}, False, False),
        ({"web": {"public_url": "https://executive.example.org", "console": False}}, False, True),
        (
            {"web": {"public_url": "https://executive.example.org"}, "channels": {"web": {"enabled": False}}},
            False,
            True,
        ),
    ],
)
def test_local_mail_mode(given: dict[str, object], in_container: bool, local: bool) -> None:
    assert local_mail_mode(Settings.model_validate(given), in_container) is local


def test_a_model_with_a_price_of_its_own_or_without_a_provider_is_no_fault(read: Reader) -> None:
    models = '[llm.models]\nlight = "tiny:1.5b"\n'
    priced = '[llm]\napi_key = "k"\n' + models + '[llm.prices."tiny:1.5b"]\ninput = 0\noutput = 0\nwindow = 8000\n'
    known = read(priced).settings.llm.known_prices
    assert (known["tiny:1.5b"].window, known["tiny:1.5b"].cache_read) == (8_000, None)
    assert set(known) > {"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"}
    assert read(models).settings.llm.offline


def test_every_default_model_has_a_price(read: Reader) -> None:
    settings = read('[llm]\napi_key = "k"').settings
    assert not settings.llm.offline
    assert set(settings.llm.models.model_dump().values()) - {None} <= set(settings.llm.known_prices)
