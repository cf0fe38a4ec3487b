"""Puts the fork server into its confinement, level by level; what is set here is inherited by every child.

Order matters: namespaces and the small root first, then the unused uid, then the imports (which prove that the root
holds what the interpreter needs), then landlock and the long system call filter.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from engine.sandbox import kernel, seccomp

NAMESPACES, LANDLOCK, SEALED, WASM, LIMITS = "namespaces", "landlock", "sealed", "wasm", "limits"
LEVELS = (NAMESPACES, LANDLOCK, SEALED, WASM, LIMITS)
"""Levels of confinement, the best first."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib64", "/usr/lib", "/usr/local/lib")
_PROGRAMS = ("/bin",)
_ROOTS = ("/tmp", "/mnt", "/srv", "/opt", "/var")
_HIDDEN = ("site-packages", "dist-packages", "test", "idlelib", "lib2to3", "ensurepip")


def unused_uid() -> int:
    """A user id that no account has and no process of this machine should have, another one for each process."""
    import pwd  # not on every system that imports this module

    taken = {entry.pw_uid for entry in pwd.getpwall()}
    start = os.getpid() % 4000
    return next(uid for offset in range(4000) if (uid := 61184 + (start + offset) % 4000) not in taken)


@dataclass(frozen=True)
class View:
    """What a candidate may see of the file system: standard library folders less the hidden names, and paths."""

    folders: tuple[str, ...]
    hidden: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def readable(self) -> list[str]:
        """Every path that may be read, folder entries one by one, for rules that cannot leave out a part."""
        entries = [str(entry) for folder in self.folders for entry in Path(folder).iterdir()]
        return [entry for entry in entries if entry not in self.hidden] + list(self.paths)


def view(packages: tuple[str, ...]) -> View:
    """The standard library, the named installed packages, shared libraries, time zones and the harmless devices."""
    keys = ("stdlib", "platstdlib")
    folders = tuple(dict.fromkeys(str(Path(sysconfig.get_path(key)).resolve()) for key in keys))
    hidden = tuple(str(place) for f in folders for name in _HIDDEN if (place := Path(f, name)).is_dir())
    paths = [path for package in packages for path in _package_paths(package)]
    return View(folders, hidden, (*paths, *_library_paths(), "/usr/share/zoneinfo", *_DEVICES))


def _package_paths(package: str) -> list[str]:
    found = importlib.util.find_spec(package)
    folders = [Path(place).resolve() for place in (found.submodule_search_locations or ())] if found else []
    bundled = [folder.with_name(f"{folder.name}.libs") for folder in folders]
    return [str(folder) for folder in [*folders, *bundled] if folder.is_dir()]


def _library_paths() -> list[str]:
    """Folders and files of shared libraries; not whole folders that also hold Python packages."""
    triplet = sysconfig.get_config_var("MULTIARCH") or f"{kernel.machine()}-linux-gnu"
    paths = [f"/lib/{triplet}", f"/usr/lib/{triplet}", "/etc/ld.so.cache"]
    for folder in [*_LIBRARIES, str(Path(sys.base_prefix, "lib"))]:
        place = Path(folder)
        if place.is_dir():
            paths += [str(entry) for entry in place.glob("*.so*") if entry.is_file()]
    return paths


def take_uid(uid: int, keep_reading: bool) -> None:
    """Become user `uid`; `keep_reading` keeps the one capability that reads root's files (under landlock)."""
    if keep_reading:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if keep_reading:
        kernel.set_capabilities(kernel.CAP_DAC_READ_SEARCH)


def reachable_by_others(paths: list[str]) -> bool:
    """True when an ordinary user can walk to every path."""
    folders = {parent for path in paths for parent in Path(path).parents}
    return all(folder.stat().st_mode & 0o001 for folder in folders if folder.exists())


def enter_namespaces(uid: int, gid: int) -> None:
    """New user (unless root), process, network, mount, IPC, UTS and cgroup namespaces; returns in process 1."""
    flags = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
    flags |= kernel.CLONE_NEWUTS | kernel.CLONE_NEWCGROUP
    if uid:
        kernel.unshare(flags | kernel.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    else:
        kernel.unshare(flags)
    inner = os.fork()
    if inner:
        _wait_for(inner)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for(inner: int) -> None:
    """Stay outside until process 1 of the namespaces ends, holding none of its files."""
    os.closerange(3, 4096)
    _, status = os.waitpid(inner, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def build_root(seen: View, scratch: tuple[str, str] = ("", ""), processes: bool = False) -> None:
    """A read-only root with the readable paths at their own places and nothing else; becomes `/`.

    `scratch` is the place and the mount options of a folder in memory that can be written to; none when empty.
    `processes` adds a /proc with the entries of these namespaces' processes and nothing else.
    """
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    sources = [os.path.realpath(path) for path in (*seen.folders, *seen.paths)]
    root = next(r for r in _ROOTS if Path(r).is_dir() and not any(f"{s}/".startswith(f"{r}/") for s in sources))
    kernel.mount("none", root, "tmpfs", kernel.MS_NOSUID, "size=1m,nr_inodes=8192,mode=755")
    for folder in seen.folders:
        _bind(folder, root)
    for place in seen.hidden:
        kernel.mount("none", root + place, "tmpfs", kernel.MS_NOSUID, "size=64k,nr_inodes=64,mode=755")
    for path in seen.paths:
        _bind(path, root)
    for link in (*_LIBRARIES, *_PROGRAMS):
        if Path(link).is_symlink() and not Path(root + link).exists():
            Path(root + link).symlink_to(os.readlink(link))  # noqa: PTH115 - the text of the link is wanted
    place, options = scratch
    if place:
        Path(root + place).mkdir()
    if processes:
        Path(root, "proc").mkdir()
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
        kernel.mount("proc", f"{root}/proc", "proc", flags, "subset=pid")
    kernel.make_read_only(root)
    if place:
        kernel.mount("none", root + place, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    kernel.enter_root(root)


def _bind(path: str, root: str) -> None:
    source = Path(path).resolve()
    target = Path(root + str(source))
    if not source.exists() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        target.mkdir()
    else:
        target.touch()
    kernel.mount(str(source), str(target), flags=kernel.MS_BIND | kernel.MS_REC)


def lock(level: str, seen: View) -> None:
    """Landlock and the long filter, as far as the level has them; no new privileges from here on."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if level == LIMITS:
        return
    if level == LANDLOCK or (level == NAMESPACES and kernel.landlock_abi()):
        kernel.landlock(readable=seen.readable, listable=list(seen.folders), writable=["/dev/null"])
    seccomp.Filter(seccomp.assemble(seccomp.server_filter(kernel.machine()))).install()
