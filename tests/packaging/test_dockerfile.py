from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.sources import CONTAINER_VARIABLE
from tests.packaging.dockerfile import ROOT, stages

HADOLINT = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def test_two_stages_and_only_the_environment_crosses() -> None:
    build, final = stages()
    assert build.alias == "build"
    assert build.image == final.image
    assert [copy.text for copy in final.of("COPY")] == ["--from=build /opt/openexecutive /opt/openexecutive"]


def test_it_runs_as_nobody_special_and_can_write_its_volume_only() -> None:
    _, final = stages()
    (user,) = final.of("USER")
    uid, gid = user.text.split(":")
    assert int(uid) >= 10000
    assert [volume.text for volume in final.of("VOLUME")] == ["/data"]
    order = [instruction.name for instruction in final.instructions]
    assert order.index("RUN") < order.index("USER") < order.index("ENTRYPOINT")
    assert "RUN" not in order[order.index("USER") :]
    assert f"install --directory --owner={uid} --group={gid} --mode=0700 /data" in final.of("RUN")[0].text


def test_it_says_that_it_is_a_container_and_where_data_goes() -> None:
    _, final = stages()
    assert final.environment[CONTAINER_VARIABLE] == "1"
    assert final.environment["OPENEXECUTIVE_DATA_DIR"] == "/data"


def test_it_has_a_health_check_and_starts_the_daemon_directly() -> None:
    _, final = stages()
    (health,) = final.of("HEALTHCHECK")
    assert 'CMD ["openexecutive", "status", "--quick"]' in health.text
    assert final.of("ENTRYPOINT")[0].words + final.of("CMD")[0].words == ["openexecutive", "run"]
    assert final.of("STOPSIGNAL")[0].text == "SIGTERM"


def test_all_that_is_copied_is_there_and_reaches_the_builder() -> None:
    build, _ = stages()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for copy in build.of("COPY"):
        *sources, _ = copy.words
        for source in sources:
            assert f"!{source}" in ignored
            if source != "README.md":  # written with the release
                assert (ROOT / source).exists(), source


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_linter_has_nothing_to_say() -> None:
    assert HADOLINT is not None
    done = subprocess.run([HADOLINT, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
def test_the_build_stage_makes_a_working_installation(tmp_path: Path) -> None:
    """Every RUN of the build stage, as it stands there, in a folder that stands for the image's root."""
    build, _ = stages()
    source, target = tmp_path / "src", tmp_path / "opt" / "openexecutive"
    source.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environ = {**kept, **build.environment}
    ran = 0
    for instruction in build.instructions:
        if instruction.name == "COPY":
            *names, folder = instruction.words
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, source / folder)
        elif instruction.name == "RUN":
            command = instruction.text.replace("/opt/openexecutive", str(target))
            done = subprocess.run(
                ["/bin/sh", "-ec", command], cwd=source, env=environ, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            ran += 1
    assert ran == 3

    probe = (
        "import config.persona, config.loader, bot.kernel, channels, pathlib;"
        "assert config.persona.persona().startswith('#');"
        f"assert pathlib.Path(config.__file__).is_relative_to({str(target)!r}), config.__file__"
    )
    subprocess.run([target / "bin" / "python", "-c", probe], cwd=tmp_path, env=environ, check=True)
    subprocess.run([target / "bin" / "openexecutive", "--help"], cwd=tmp_path, env=environ, check=True)
    assert not list((target / "lib").rglob("tests/packaging")), "tests are not shipped"
