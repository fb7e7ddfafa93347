"""Checks of this machine. They read; a probe file in the data folder is removed again at once."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import sqlite3
import ssl
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.cli.checks.finding import Finding, fail, ok, warn
from config.faults import Kind
from config.keys import secrets
from config.loader import Loaded
from config.schema import Settings

NEEDED_PYTHON = (3, 11)
NEEDED_SQLITE = (3, 35, 0)
"""RETURNING came with 3.35.0."""
LITTLE_SPACE = 1_000_000_000
NO_SPACE = 100_000_000
EARLIEST = datetime(2026, 11, 1, tzinfo=UTC)
"""This program did not exist before."""

# https://www.sqlite.org/wal.html: all processes must be on the same host; WAL does not work over a network.
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "vboxsf", "virtiofs"}
_NETWORK_FUSE = ("fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse")
_GONE_AFTER_RESTART = {"tmpfs", "ramfs"}


def python(version: Sequence[int] = sys.version_info[:3]) -> Finding:
    text = ".".join(str(part) for part in version)
    if tuple(version[:2]) < NEEDED_PYTHON:
        return fail(f"Python {text} is too old", sys.executable, "install Python 3.11 or newer")
    return ok(f"Python {text}")


def sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> Finding:
    """The library that Python uses: new enough, with full text search."""
    text = ".".join(str(part) for part in version)
    mend = "use a Python that is built with SQLite 3.35 or newer, with FTS5"
    if version < NEEDED_SQLITE:
        return fail(f"SQLite {text} is too old", sys.executable, mend)
    memory = sqlite3.connect(":memory:")
    try:
        memory.execute("CREATE VIRTUAL TABLE probe USING fts5(words)")
    except sqlite3.OperationalError:
        return fail(f"SQLite {text} has no full text search (FTS5)", sys.executable, mend)
    finally:
        memory.close()
    return ok(f"SQLite {text} with FTS5")


def time_zones(names: Sequence[str]) -> Finding:
    """The zones that settings name can be loaded."""
    for name in dict.fromkeys(("Europe/Berlin", *names)):
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            return fail(
                f"no time zone data for {name}", "/usr/share/zoneinfo", "install tzdata (system package or from PyPI)"
            )
    return ok("time zone data")


def clock(now: datetime) -> Finding:
    if now < EARLIEST:
        return fail(f"the clock says {now:%Y-%m-%d}: it is wrong", "system clock", "turn time synchronisation on")
    return ok(f"clock says {now:%Y-%m-%d %H:%M} UTC")


def daemon_running(data_dir: Path) -> bool:
    """Whether a daemon holds the data folder."""
    try:
        descriptor = os.open(data_dir / "daemon.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


# --- folders and files ----------------------------------------------------------------------------------------------


def data_folder(folder: Path) -> Iterator[Finding]:
    """Exists or can be made, belongs to us, is closed to others, takes writes, has space, keeps what it takes."""
    where = f"{folder} (data_dir)"
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():
        yield fail(f"{existing} is not a folder", where, "set data_dir to a folder")
        return
    if not os.access(existing, os.W_OK | os.X_OK):
        yield fail(
            f"{existing} cannot be written by this account",
            where,
            f"give it to this account (chown {os.geteuid()} {existing}), or set data_dir to another folder",
        )
        return
    if existing == folder:
        yield from _own_and_closed(folder, where)
        try:
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(b"probe")
                probe.flush()
                os.fsync(probe.fileno())
        except OSError as error:
            yield fail(f"a write failed: {error.strerror}", where, "make room, or mount the disk for writing")
            return
        yield ok("data folder takes writes", str(folder))
    else:
        yield ok("data folder will be made at the first start", str(folder))
    yield _space(shutil.disk_usage(existing).free, where)
    kind = file_system(existing, Path("/proc/self/mountinfo"))
    if kind is not None:
        yield _kind(kind, where)


def _own_and_closed(folder: Path, where: str) -> Iterator[Finding]:
    facts = folder.stat()
    if facts.st_uid != os.geteuid():
        yield fail(
            "the data folder belongs to another account",
            where,
            f"run as its owner (uid {facts.st_uid}), or chown -R {os.geteuid()} {folder}",
        )
    elif stat.S_IMODE(facts.st_mode) & 0o077:
        yield warn("other accounts may look into the data folder", where, f"chmod 700 {folder}")


def _space(free: int, where: str) -> Finding:
    text = f"{free / 1e9:.1f} GB free" if free >= 1e9 else f"{free / 1e6:.0f} MB free"
    if free < NO_SPACE:
        return fail(f"the disk is full: {text}", where, "make room, or set data_dir to another disk")
    if free < LITTLE_SPACE:
        return warn(f"little room: {text}", where, "make room soon")
    return ok(f"{text} for the data folder")


def _kind(kind: str, where: str) -> Finding:
    if kind in _NETWORK or kind.startswith(_NETWORK_FUSE):
        return fail(
            f"the data folder is on a network or shared file system ({kind}): the database may be damaged there",
            where,
            "set data_dir to a folder on a local disk",
        )
    if kind in _GONE_AFTER_RESTART:
        return warn(
            f"the data folder is in memory ({kind}): all is gone after a restart of the machine",
            where,
            "set data_dir to a folder on a disk",
        )
    if kind == "overlay":
        return warn(
            "the data folder is inside the container (overlay): all is gone with the container",
            where,
            "mount a volume there",
        )
    return ok(f"data folder is on a local file system ({kind})")


def file_system(path: Path, mountinfo: Path) -> str | None:
    """Type of the file system that `path` is on, by proc_pid_mountinfo(5). None where that cannot be read."""
    try:
        lines = mountinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    resolved, best, kind = path.resolve(), -1, None
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(), right.split()
        if len(fields) < 5 or not kinds:
            continue
        mount = Path(fields[4].replace("\\040", " "))
        if resolved.is_relative_to(mount) and len(mount.parts) >= best:  # of two on one place the later one counts
            best, kind = len(mount.parts), kinds[0]
    return kind


def settings_file(loaded: Loaded) -> Finding:
    """Which one is read, and that a file with secrets in it is closed to others."""
    if loaded.file is None:
        return ok("no settings file: defaults and environment")
    held = [key.dotted for key in secrets() if loaded.source(key.dotted).kind is Kind.FILE]
    mode = stat.S_IMODE(loaded.file.stat().st_mode)
    if held and mode & 0o077:
        text = f"the settings file holds {', '.join(held)} and may be read by other accounts (mode {mode:03o})"
        level = fail if mode & 0o007 else warn  # a service's file is often the group's to read
        return level(text, str(loaded.file), f"chmod 600 {loaded.file}, or give the secret as a credential file")
    return ok("settings file", str(loaded.file))


def certificate(settings: Settings) -> Iterator[Finding]:
    """The certificate for STARTTLS on incoming mail can be loaded."""
    smtp = settings.channels.email.smtp
    listens = settings.channels.email.enabled and smtp.enabled
    if not listens or smtp.certificate is None or smtp.key is None:
        return
    where = "channels.email.smtp.certificate, channels.email.smtp.key"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(smtp.certificate, smtp.key, password="")
    except ssl.SSLError as error:
        reason = (error.reason or "not PEM").replace("_", " ").lower()
        yield fail(f"certificate and key cannot be used: {reason}", where, "give a PEM chain and its unencrypted key")
    except OSError as error:
        yield fail(f"certificate or key cannot be read: {error.strerror}", where, "check both paths and their rights")
    else:
        yield ok("certificate for STARTTLS")


# --- ports ----------------------------------------------------------------------------------------------------------


def ports(settings: Settings, running: bool) -> Iterator[Finding]:
    """The ports that the daemon will listen on are free, or held by the daemon itself."""
    smtp = settings.channels.email.smtp
    wanted = [
        ("web.port", settings.web.enabled, settings.web.host, settings.web.port),
        ("channels.email.smtp.port", settings.channels.email.enabled and smtp.enabled, smtp.host, smtp.port),
    ]
    for key, enabled, host, port in wanted:
        if enabled and port != 0:
            yield _port(key, host, port, running)


def _port(key: str, host: str, port: int, running: bool) -> Finding:
    where = f"{key} ({host}:{port})"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except socket.gaierror:
        return fail("this host name has no address", where, f"set {key.replace('.port', '.host')} to an IP address")
    except OSError as error:
        match error.errno:
            case errno.EADDRINUSE if running:
                return ok(f"port {port}: held by the running daemon")
            case errno.EADDRINUSE:
                return fail("another program has this port", where, f"stop that program, or set {key} to another port")
            case errno.EACCES:
                mend = f"set {key} to 1024 or higher, or allow low ports (CAP_NET_BIND_SERVICE)"
                return fail("this account may not listen on this port", where, mend)
            case errno.EADDRNOTAVAIL:
                mend = f"set {key.replace('.port', '.host')} to an address of this machine"
                return fail("this machine has no such address", where, mend)
            case _:
                return fail(f"cannot listen: {error.strerror}", where, f"set {key} to another port")
    return ok(f"port {port} is free")
