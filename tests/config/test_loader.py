from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from config.faults import Kind, SettingsError
from config.loader import find_data_dir, load
from tests.config.conftest import Reader


def _secret(value: object) -> str:
    return value.get_secret_value()  # type: ignore[attr-defined, no-any-return]


def test_nothing_given_is_the_embedded_default(read: Reader) -> None:
    loaded = read()
    settings = loaded.settings
    assert loaded.file is None
    assert loaded.provenance == {}
    assert loaded.warnings == ()
    assert settings.data_dir == read.folder / "home" / ".local/share/openexecutive"
    assert (settings.web.host, settings.web.port) == ("127.0.0.1", 8321)
    assert (settings.channels.email.smtp.host, settings.channels.email.smtp.port) == ("127.0.0.1", 2525)
    assert settings.channels.email.address == "executive@localhost"
    assert settings.llm.provider == "auto"
    (principal,) = settings.roster.values()
    assert (principal.role, principal.email) == ("principal", ("principal@localhost",))


def test_file_over_default_environment_over_file_secret_file_over_environment(read: Reader) -> None:
    text = """
        log_level = "debug"
        [llm]
        api_key = "of-the-file"
        max_tokens = 1000
        timeout = "90s"
    """
    environ = {"OPENEXECUTIVE_LLM__API_KEY": "of-the-environment", "OPENEXECUTIVE_LLM__MAX_TOKENS": "2000"}
    loaded = read(text, environ)
    assert loaded.settings.log_level == "debug"
    assert loaded.settings.llm.max_tokens == 2000
    assert loaded.settings.llm.timeout == timedelta(seconds=90)
    assert _secret(loaded.settings.llm.api_key) == "of-the-environment"
    assert loaded.source("log_level").kind is Kind.FILE
    assert loaded.source("llm.max_tokens").where == "OPENEXECUTIVE_LLM__MAX_TOKENS"
    assert loaded.source("llm.history_tokens").kind is Kind.DEFAULT

    docker = read.docker_secret("llm__api_key", b"of-docker\n")
    loaded = read(text, environ)
    assert _secret(loaded.settings.llm.api_key) == "of-docker"
    assert loaded.source("llm.api_key").where == str(docker)

    loaded = read(text, environ | read.credential("llm.api_key", b"of-systemd\n"))
    assert _secret(loaded.settings.llm.api_key) == "of-systemd"
    assert loaded.source("llm.api_key").kind is Kind.SECRET_FILE


@pytest.mark.parametrize("name", ["channels.telegram.token", "channels__telegram__token"])
def test_a_secret_file_is_named_with_dots_or_underscores(read: Reader, name: str) -> None:
    read.docker_secret(name, b"1:abc\r\n")
    loaded = read("[channels.telegram]\nenabled = true")
    assert _secret(loaded.settings.channels.telegram.token) == "1:abc"


def test_the_anthropic_variable_counts_only_where_nothing_else_is_set(read: Reader) -> None:
    environ = {"ANTHROPIC_API_KEY": "plain"}
    assert _secret(read(None, environ).settings.llm.api_key) == "plain"
    assert read(None, environ).source("llm.api_key").where == "ANTHROPIC_API_KEY"
    assert _secret(read('[llm]\napi_key = "mine"', environ).settings.llm.api_key) == "mine"
    assert read("", {"ANTHROPIC_API_KEY": " "}).settings.llm.api_key is None


def test_which_file_is_read(tmp_path: Path) -> None:
    system = tmp_path / "etc.toml"
    here = tmp_path / "openexecutive.toml"
    named = tmp_path / "named.toml"
    argument = tmp_path / "argument.toml"

    def chosen(environ: dict[str, str], file: Path | None = None) -> str | None:
        loaded = load(environ, file, tmp_path, system_file=system, docker_secrets=tmp_path / "none")
        return loaded.file.name if loaded.file else None

    assert chosen({}) is None
    system.write_text("")
    assert chosen({}) == "etc.toml"
    here.write_text("")
    assert chosen({}) == "openexecutive.toml"
    named.write_text("")
    assert chosen({"OPENEXECUTIVE_CONFIG": "named.toml"}) == "named.toml"
    argument.write_text("")
    assert chosen({"OPENEXECUTIVE_CONFIG": "named.toml"}, argument) == "argument.toml"
    assert chosen({"OPENEXECUTIVE_CONFIG": ""}) == "openexecutive.toml"


def test_a_named_file_that_is_missing_is_a_fault(read: Reader) -> None:
    fault = read.fault(None, {"OPENEXECUTIVE_CONFIG": "gone.toml"})
    assert fault.where == str(read.folder / "gone.toml")
    assert "no such file" in fault.problem


def test_all_faults_are_told_at_once_with_place_and_what_is_allowed(read: Reader) -> None:
    text = """
        log_level = "loud"
        [web]
        prot = 1
        port = 99999
        [llm]
        provider = "anthropic"
        [people.anna]
        role = "boss"
        email = ["anna@example.org", "anna"]
    """
    faults = read.faults(text, {"OPENEXECUTIVE_LIMITS__TURNS": "many", "OPENEXECUTIVE_WEB__HOSTT": "x"})
    found = {(fault.key or fault.where): fault for fault in faults}
    assert set(found) == {
        "log_level",
        "web.prot",
        "web.port",
        "llm.api_key",
        "people.anna.name",
        "people.anna.role",
        "people.anna.email",
        "limits.turns",
        "environment variable OPENEXECUTIVE_WEB__HOSTT",
    }
    file = str(read.folder / "openexecutive.toml")
    assert (found["web.port"].where, found["web.port"].given) == (file, "99999")
    assert found["web.port"].allowed == "a whole number from 0 to 65535"
    assert "web.port?" in found["web.prot"].problem
    assert found["people.anna.role"].allowed == '"principal" or "member" or "guest"'
    assert found["people.anna.email"].problem.startswith("item 2")
    assert found["people.anna.name"].problem == "missing"
    assert found["limits.turns"].where == "environment variable OPENEXECUTIVE_LIMITS__TURNS"
    assert found["limits.turns"].given == '"many"'
    unknown = found["environment variable OPENEXECUTIVE_WEB__HOSTT"]
    assert "did you mean OPENEXECUTIVE_WEB__HOST?" in unknown.problem


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb =\n", "line 2"),
        ("a = 1\na = 2\n", "line 2"),
        ('[web\nport = "x"\n', "line 1"),
        ('a = "never closed', "end of document"),
    ],
)
def test_a_syntax_error_names_the_line(read: Reader, text: str, line: str) -> None:
    fault = read.fault(text)
    assert fault.where.startswith(f"{read.folder}/openexecutive.toml, {line}")


def test_a_file_that_cannot_be_parsed_hides_no_other_source_and_blames_nothing_missing(read: Reader) -> None:
    environ = {"OPENEXECUTIVE_CHANNELS__TELEGRAM__ENABLED": "true", "OPENEXECUTIVE_WEB__PORT": "x"}
    assert [fault.key for fault in read.faults("token = ", environ)] == [None, "web.port"]


def test_text_that_is_not_utf8_names_the_line(read: Reader) -> None:
    (read.folder / "openexecutive.toml").write_bytes(b'log_level = "info"\nx = "\xff"\n')
    assert read.fault().where.endswith("openexecutive.toml, line 2")


def test_a_byte_order_mark_and_windows_line_ends_are_understood(read: Reader) -> None:
    (read.folder / "openexecutive.toml").write_bytes(b'\xef\xbb\xbflog_level = "debug"\r\n')
    assert read().settings.log_level == "debug"


def test_a_folder_in_place_of_the_file_is_a_fault(read: Reader) -> None:
    (read.folder / "openexecutive.toml").mkdir()
    assert "cannot be read" in read.fault().problem


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("OPENEXECUTIVE_PEOPLE", '{"anna": {"name": "Anna", "role": "principal"}}', "people.anna.name", "Anna"),
        ("OPENEXECUTIVE_PEOPLE__ANNA", '{"name": "Anna", "role": "principal"}', "people.anna.name", "Anna"),
        ("OPENEXECUTIVE_WEB__ALLOWED_HOSTS", '["a.example"]', "web.allowed_hosts", ("a.example",)),
        ("OPENEXECUTIVE_WEB", '{"port": 1}', "web.port", 1),
        ("OPENEXECUTIVE_WEB__ENABLED", "false", "web.enabled", False),
        ("OPENEXECUTIVE_COMPANY__NAME", "[Acme]", "company.name", "[Acme]"),
        ("OPENEXECUTIVE_LIMITS__DRAIN", "30", "limits.drain", timedelta(seconds=30)),
        ("OPENEXECUTIVE_LIMITS__DRAIN", "PT1M", "limits.drain", timedelta(minutes=1)),
        ("OPENEXECUTIVE_LLM__MODELS__ORCHESTRATOR_FALLBACK", "none", "llm.models.orchestrator_fallback", None),
        ("OPENEXECUTIVE_LOG_LEVEL", "", "log_level", "info"),
    ],
)
def test_environment_values(read: Reader, name: str, text: str, key: str, value: object) -> None:
    found: object = read(None, {name: text}).settings
    for part in key.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found == value


def test_a_single_variable_wins_over_the_whole_table_as_json(read: Reader) -> None:
    settings = read(None, {"OPENEXECUTIVE_WEB": '{"port": 1}', "OPENEXECUTIVE_WEB__PORT": "2"}).settings
    assert settings.web.port == 2


@pytest.mark.parametrize("text", ["a, b", '{"a": 1}', '"a"', "[" * 100_000])
def test_a_list_that_is_not_json_is_a_fault(read: Reader, text: str) -> None:
    fault = read.fault(None, {"OPENEXECUTIVE_WEB__ALLOWED_HOSTS": text})
    assert fault.key == "web.allowed_hosts"
    assert fault.allowed is not None
    assert '["a", "b"]' in fault.allowed


def test_variables_that_others_set_are_left_alone(read: Reader) -> None:
    read(
        None,
        {
            "OPENEXECUTIVE_IN_CONTAINER": "1",
            "OPENEXECUTIVE_SERVICE_HOST": "10.0.0.1",
            "OPENEXECUTIVE_SERVICE_PORT_HTTP": "80",
            "OPENEXECUTIVE_PORT": "tcp://10.0.0.1:80",
            "OPENEXECUTIVE_PORT_80_TCP_ADDR": "10.0.0.1",
            "OPENEXECUTIVES": "another program",
        },
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OPENEXECUTIVE_WEB_PORT", "OPENEXECUTIVE_WEB__PORT"),
        ("OPENEXECUTIVE_LOGLEVEL", "OPENEXECUTIVE_LOG_LEVEL"),
        ("OPENEXECUTIVE_TELEGRAM__TOKEN", "OPENEXECUTIVE_CHANNELS__TELEGRAM__TOKEN"),
        ("OPENEXECUTIVE_WEB__PORT__X", "OPENEXECUTIVE_WEB__PORT"),
        ("OPENEXECUTIVE_", None),
    ],
)
def test_an_unknown_variable_is_a_fault_with_the_nearest(read: Reader, name: str, meant: str | None) -> None:
    fault = read.fault(None, {name: "x"})
    assert fault.where == f"environment variable {name}"
    assert (f"did you mean {meant}?" in fault.problem) is (meant is not None)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[web]\nprot = 1", "web.port"),
        ("[telegram]\nenabled = true", "channels.telegram"),
        ("[channels.telegramm]\nenabled = true", "channels.telegram"),
        ("port = 1", "port?"),
        ('[people.a]\nname = "A"\nrole = "principal"\nmail = []', "people.a.email"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(read: Reader, text: str, meant: str) -> None:
    assert meant in read.fault(text).problem


@pytest.mark.parametrize("text", ["llm = 5", "people = 5", "[people]\nanna = 5", "[channels]\ntelegram = true"])
def test_a_value_where_a_table_must_be(read: Reader, text: str) -> None:
    assert read.fault(text).problem == "not a table"


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"\xff", b"a\nb", b"x" * 100_000], ids=["empty", "blank", "binary", "two lines", "large"]
)
def test_a_secret_file_that_holds_no_secret_is_one_fault(read: Reader, content: bytes) -> None:
    environ = read.credential("channels.telegram.token", content)
    fault = read.fault("[channels.telegram]\nenabled = true", environ)
    assert fault.where == f"{environ['CREDENTIALS_DIRECTORY']}/channels.telegram.token"
    assert fault.key == "channels.telegram.token"
    assert fault.given is None


@pytest.mark.parametrize(
    ("name", "meant"), [("channels.telegram.tokn", "channels.telegram.token"), ("web.port", "not a secret")]
)
def test_a_misnamed_credential_is_a_fault_and_other_files_are_left_alone(read: Reader, name: str, meant: str) -> None:
    environ = read.credential(name, b"x")
    read.credential("tls.key", b"-----BEGIN")
    assert meant in read.fault(None, environ).problem


def test_paths_start_at_the_file_that_names_them_or_at_the_working_directory(read: Reader) -> None:
    (read.folder / "etc").mkdir()
    (read.folder / "etc" / "openexecutive.toml").write_text(
        'data_dir = "data"\n[channels.email.smtp]\ncertificate = "~/tls.pem"\nkey = "/tls.key"\n'
    )
    settings = read().settings
    assert settings.data_dir == read.folder / "etc" / "data"
    assert settings.channels.email.smtp.certificate == read.folder / "home" / "tls.pem"
    assert settings.channels.email.smtp.key == Path("/tls.key")
    assert read(None, {"OPENEXECUTIVE_DATA_DIR": "data"}).settings.data_dir == read.folder / "data"


def test_a_person_without_a_time_zone_has_the_companys(read: Reader) -> None:
    roster = read(
        '[company]\ntime_zone = "Europe/Berlin"\n[people.a]\nname = "A"\nrole = "principal"\n'
        '[people.b]\nname = "B"\ntime_zone = "UTC"\n'
    ).settings.roster
    assert (roster["a"].time_zone, roster["b"].time_zone) == ("Europe/Berlin", "UTC")


@pytest.mark.parametrize(
    "zone", ["Europe/Berlim", "europe/berlin", "../../etc/passwd", "", "/etc/localtime", "America"]
)
def test_a_time_zone_that_is_none(read: Reader, zone: str) -> None:
    assert read.fault(f'[company]\ntime_zone = "{zone}"').key == "company.time_zone"


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("llm", 'timeout = "-5s"'),
        ("llm", "timeout = 0"),
        ("llm", 'timeout = "5 years"'),
        ("llm", 'timeout = "99999999999999d"'),
        ("llm", "timeout = -1"),
        ("llm", 'base_url = "localhost:9000"'),
        ("llm", 'base_url = "https://user:password@host"'),
        ("llm", 'base_url = "http://[::1"'),
        ("channels.email", 'address = "executive"'),
        ("channels.email", 'address = "Executive <e@example.org>"'),
        ("channels.email", 'nameservers = ["dns.example.org"]'),
        ("channels.email", 'nameservers = ["9.9.9.9:99999"]'),
        ("channels.email.smtp", 'host = "http://x"'),
        ("web", 'allowed_hosts = ["*"]'),
        ("web", 'allowed_hosts = ["https://a.example"]'),
        ("people.a", 'name = "A"\nrole = "principal"\ntelegram = [-100123]'),
        ("people.a", 'name = "A"\nrole = "principal"\nquiet_hours = ["25:00", "07:00"]'),
        ("people.a", 'name = "A"\nrole = "principal"\nquiet_hours = ["20:00"]'),
        ("people.a", 'name = ""\nrole = "principal"'),
    ],
)
def test_a_value_that_is_not_allowed_is_one_fault(read: Reader, section: str, line: str) -> None:
    fault = read.fault(f"[{section}]\n{line}")
    assert fault.key is not None
    assert fault.key.startswith(section)
    assert fault.allowed


def test_every_person_id_is_checked(read: Reader) -> None:
    fault = read.fault('[people."Anna Müller"]\nname = "Anna"')
    assert fault.problem == "not an id for a person"
    assert "small letters" in (fault.allowed or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_a_fault(read: Reader) -> None:
    path = read.folder / "openexecutive.toml"
    path.write_text("")
    path.chmod(0)
    assert "cannot be read" in read.fault().problem


def test_the_data_folder_is_found_whatever_else_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "openexecutive.toml"

    def found(environ: dict[str, str]) -> Path:
        return find_data_dir({"HOME": "/home/x", **environ}, None, tmp_path, system_file=tmp_path / "none")

    assert found({}) == Path("/home/x/.local/share/openexecutive")
    file.write_text('data_dir = "data"\nnonsense = 1\n[channels.telegram]\nenabled = true')
    assert found({"OPENEXECUTIVE_NONSENSE": "1"}) == tmp_path / "data"
    assert found({"OPENEXECUTIVE_DATA_DIR": "/srv/x"}) == Path("/srv/x")
    file.write_text("data_dir = 5")
    with pytest.raises(SettingsError, match="data_dir: not allowed"):
        found({})
    file.write_text("data_dir = \n")
    with pytest.raises(SettingsError, match="line 1"):
        found({})


@pytest.mark.parametrize("name", ["\x1b[31mred", "line\nbreak", "\udcff"])
def test_a_report_can_be_printed_whatever_names_and_values_hold(read: Reader, name: str) -> None:
    faults = read.faults(None, {f"OPENEXECUTIVE_{name}": "x", "OPENEXECUTIVE_LOG_LEVEL": name})
    for fault in faults:
        assert all(line.isprintable() for line in str(fault).splitlines())
        str(fault).encode()
