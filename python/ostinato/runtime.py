"""The process's context: which plugins and devices there are, where compiled kernels are kept.

It is made when it is first needed; configure() before that changes how. Everything that is lazy lives in one session.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core

__all__ = ["Device", "Plugin", "configure", "context", "devices", "manual_seed", "plugins", "session"]


@dataclasses.dataclass(frozen=True)
class Device:
    """A device that a plugin offers; `reason` says why it is not available."""

    id: str
    driver: str
    name: str
    kind: str
    target: str
    available: bool
    compile_only: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class Plugin:
    """What became of a plugin that was looked at."""

    path: str
    library: str
    driver: str
    status: str
    stage: str
    rule: int
    reason: str


_lock = threading.RLock()
_settings: dict[str, Any] = {"plugin_files": [], "plugin_folders": [], "options": [], "plugins": "", "cache": ""}
_context: _core.Context | None = None
_session: _core.Session | None = None
_fast = False
_owner = 0  # the process that made them


def configure(
    *,
    plugin_files: Sequence[str] = (),
    plugin_folders: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    plugins: str = "",
    cache: str = "",
    numerics: str = "strict",
) -> None:
    """Sets what the context is made with; an error once there is one.

    plugin_files: discovery files or libraries, loaded first. plugin_folders: searched instead of those beside the
    library. options: of drivers, {"cpu.threads": "4"}. plugins: "glob,!glob" over the names of drivers. cache: the
    folder of compiled kernels, or "off". numerics: "strict", the same bits on every device, or "fast".
    """
    global _fast
    if numerics not in ("strict", "fast"):
        raise ValueError(f"numerics {numerics!r}: wanted 'strict' or 'fast'")
    with _lock:
        if _context is not None:
            raise RuntimeError("configure: devices were used already; call it before anything else")
        _settings.update(
            plugin_files=[os.fspath(p) for p in plugin_files],
            plugin_folders=[os.fspath(p) for p in plugin_folders],
            options=list((options or {}).items()),
            plugins=plugins,
            cache=os.fspath(cache),
        )
        _fast = numerics == "fast"


def context() -> _core.Context:
    """The process's context."""
    global _context, _owner
    with _lock:
        if _context is None:
            _context = _core.Context(**_settings)
            _owner = os.getpid()
        elif _owner != os.getpid():
            raise RuntimeError(
                "this process was forked from one that had used ostinato, and has none of its threads and devices; "
                "use the start method 'spawn' or 'forkserver' of multiprocessing"
            )
        return _context


def session() -> _core.Session:
    """The session of all lazy tensors."""
    global _session
    with _lock:
        owner = context()
        if _session is None:
            _session = _core.Session(owner, _fast, True)
        return _session


def devices() -> list[Device]:
    """All devices, usable or not."""
    return [Device(**d) for d in context().devices()]


def plugins() -> list[Plugin]:
    """One record for each plugin that was looked at, loaded or not."""
    return [Plugin(**p) for p in context().plugins()]


def manual_seed(seed: int) -> None:
    """Starts the random numbers of all devices anew; captured functions follow."""
    session().seed(seed)
