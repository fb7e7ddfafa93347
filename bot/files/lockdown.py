"""What the child takes from itself before it touches a stranger's bytes. Runs in the child only.

Enforced everywhere that has `resource`: address space, CPU seconds, no file may grow (so nothing can be written), few
descriptors, no core dump. On Linux, where the kernel and the surrounding service allow it: no network (a network
namespace of its own), no file but the interpreter's and its libraries' (Landlock), no signal to another process
(Landlock, ABI 6), death with the daemon.

Not enforced: system calls are not filtered; a parser taken over may still start processes of the interpreter's own
kind when the daemon runs as root (RLIMIT_NPROC does not bind root). `close_off` says what took effect; `doctor` shows
it.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence
from enum import StrEnum

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38  # <linux/prctl.h>
_SIGKILL = 9
# <linux/landlock.h>; the system call numbers are the same on every architecture (added after their unification).
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FS_RIGHTS = ((5, 16), (3, 15), (2, 14), (1, 13))  # (from this ABI on, number of rights known)
_NET_RIGHTS, _SCOPES = 0b11, 0b11
_RESERVE = 64 * 1024 * 1024  # address space given back after a MemoryError, to report it with


class Protection(StrEnum):
    LIMITS = "limits"
    NO_NETWORK = "no_network"
    NO_TCP = "no_tcp"  # the weaker form where a network namespace is refused
    FILES_CLOSED = "files_closed"
    NO_SIGNALS = "no_signals"  # to processes outside of the child
    DIES_WITH_DAEMON = "dies_with_daemon"


def limit(memory: int, cpu_seconds: int, open_files: int) -> None:
    """Set the resource limits. Memory in bytes of address space."""
    _set(resource.RLIMIT_AS, memory, memory + _RESERVE)
    _set(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _set(resource.RLIMIT_FSIZE, 0, 0)
    _set(resource.RLIMIT_CORE, 0, 0)
    _set(resource.RLIMIT_NOFILE, open_files, open_files)
    if hasattr(resource, "RLIMIT_NPROC"):
        _set(resource.RLIMIT_NPROC, 0, 0)


def release_reserve() -> None:
    """After a MemoryError: room to say so."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def close_off(readable: Sequence[str], listable: Sequence[str]) -> list[Protection]:
    """Give up the network and all files but these folders (and the standard library's). Returns what took effect."""
    if sys.platform != "linux":
        return []
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    taken: list[Protection] = []
    if libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0) == 0:
        taken.append(Protection.DIES_WITH_DAEMON)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    # With a user namespace it also works without privileges, and root's are lost on the way.
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0 or libc.unshare(_CLONE_NEWNET) == 0:
        taken.append(Protection.NO_NETWORK)

    abi = int(libc.syscall(_CREATE_RULESET, None, 0, 1))
    if abi < 1 or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return taken
    rights = next(count for since, count in _FS_RIGHTS if abi >= since)
    words = [(1 << rights) - 1]
    if abi >= 4:
        words.append(_NET_RIGHTS)
    if abi >= 6:
        words.append(_SCOPES)
    attributes = (ctypes.c_uint64 * len(words))(*words)
    ruleset = int(libc.syscall(_CREATE_RULESET, attributes, ctypes.sizeof(attributes), 0))
    if ruleset < 0:
        return taken
    for access, folders in ((_READ_FILE | _READ_DIR, [*readable, *_interpreter()]), (_READ_DIR, listable)):
        for folder in folders:
            _allow(libc, ruleset, access, folder)
    if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0:
        taken.append(Protection.FILES_CLOSED)
        if abi >= 4:
            taken.append(Protection.NO_TCP)
        if abi >= 6:
            taken.append(Protection.NO_SIGNALS)
    os.close(ruleset)
    return taken


def _allow(libc: object, ruleset: int, access: int, folder: str) -> None:
    import ctypes

    try:
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a folder that does not exist needs no rule
    # struct landlock_path_beneath_attr is packed: u64 allowed_access, s32 parent_fd.
    rule = access.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)
    if isinstance(libc, ctypes.CDLL):
        libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
    os.close(descriptor)


def _interpreter() -> list[str]:
    """Where the standard library and the C libraries of extension modules lie."""
    roots = {os.path.dirname(os.__file__), os.path.join(sys.base_prefix, "lib"), os.path.join(sys.base_prefix, "lib64")}
    return [*roots, "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/nix/store"]


def _set(which: int, soft: int, hard: int) -> None:
    """Lower a limit; one that is already lower stays."""
    ceiling = resource.getrlimit(which)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))
