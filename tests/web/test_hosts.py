from __future__ import annotations

import pytest

from bot.web.hosts import Allowed, is_loopback_address

ALLOWED = Allowed.of(["Exec.example.org", "proxy.example.org:8443", "[2001:db8::1]"])


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8321",
        "localhost.",
        "127.0.0.1:8321",
        "127.3.2.1",
        "[::1]:80",
        "[::1]",
        "exec.example.org",
        "EXEC.example.org:8321",
        "proxy.example.org:8443",
        "[2001:db8::1]:9",
    ],
)
def test_our_own_names_are_allowed(host: str) -> None:
    assert ALLOWED.host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "proxy.example.org",
        "proxy.example.org:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "exec.example.org.evil.example",
        "evil.example:8321",
        "exec.example.org@evil.example",
        "exec.example.org/..",
        "[::1",
        "::1",
        "192.0.2.1",
        "0.0.0.0",
        "exec.example.org:port",
        "localhost:1:2",
        "local host",
    ],
)
def test_other_names_are_not(host: str) -> None:
    assert not ALLOWED.host(host)


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:8321", True),
        ("https://exec.example.org", True),
        ("https://proxy.example.org:8443", True),
        ("https://proxy.example.org", False),
        ("null", False),
        ("", False),
        ("https://evil.example", False),
        ("http://localhost.evil.example:8321", False),
        ("https://localhost@evil.example", False),
        ("https://evil.example/localhost", False),
        ("file://localhost", False),
        ("chrome-extension://localhost", False),
        ("https://exec.example.org:99999", False),
        ("https://[::1", False),
    ],
)
def test_origins(origin: str, allowed: bool) -> None:
    assert ALLOWED.origin(origin) is allowed


def test_a_default_port_is_the_listed_one() -> None:
    listed = Allowed.of(["exec.example.org:443"])
    assert listed.origin("https://exec.example.org")
    assert not listed.origin("http://exec.example.org")


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("192.0.2.1", False),
        ("", False),
        ("unix", False),
    ],
)
def test_loopback_addresses(address: str, loopback: bool) -> None:
    assert is_loopback_address(address) is loopback
