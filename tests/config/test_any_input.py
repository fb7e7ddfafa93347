"""Whatever stands in a file or a variable is taken or refused in words; nothing else happens."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from config import keys
from config.document import toml_value
from config.faults import Fault, SettingsError
from config.loader import load


def faults(content: bytes, environ: Mapping[str, str]) -> tuple[Fault, ...]:
    """Those of a file with `content` and of `environ`; none if they are taken."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "openexecutive.toml").write_bytes(content)
        nowhere = Path(folder) / "nowhere"
        try:
            load({"HOME": "/home/x", **environ}, None, Path(folder), system_file=nowhere, docker_secrets=nowhere)
        except SettingsError as error:
            return error.faults
        return ()


@given(st.binary(max_size=200) | st.text(alphabet="[]=.\"'\n #a1", max_size=60).map(str.encode))
def test_any_file_is_read_or_refused(content: bytes) -> None:
    for fault in faults(content, {}):
        assert fault.where
        assert fault.problem


ODD: list[object] = [
    "",
    "x",
    "0",
    "-1",
    "1e999",
    "nan",
    0,
    -1,
    2**70,
    1.5,
    True,
    [],
    ["x"],
    [[]],
    [0, -1],
    "\x00",
    "é" * 300,
]


@given(
    st.dictionaries(st.sampled_from([key for table in keys.tables() for key in table.keys]), st.sampled_from(ODD)),
    st.dictionaries(st.sampled_from([key for table in keys.tables() for key in table.keys]), st.sampled_from(ODD)),
)
def test_any_value_in_any_key_is_taken_or_named(
    of_file: dict[keys.Key, object], of_env: dict[keys.Key, object]
) -> None:
    tables: dict[str, list[str]] = {}
    for key, value in of_file.items():
        path = ["anna" if part == keys.ANY else part for part in key.path]
        tables.setdefault(".".join(path[:-1]), []).append(f"{path[-1]} = {toml_value(value)}")
    text = "\n".join(tables.pop("", []))
    for table, lines in tables.items():
        text += "\n".join(["", f"[{table}]", *lines])
    environ = {
        keys.environment_name(["anna" if part == keys.ANY else part for part in key.path]): str(value)
        for key, value in of_env.items()
        if "\x00" not in str(value)
    }
    told = faults(text.encode(), environ)
    assert all(fault.key for fault in told)
    assert len({str(fault) for fault in told}) == len(told), "told twice"
