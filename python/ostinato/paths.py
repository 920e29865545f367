"""Where the package's other parts are: in a wheel beside it, in a build tree two folders up."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_IS_WHEEL = (_PACKAGE / "bin").is_dir()


def _find(in_wheel: str, in_build: str) -> Path:
    path = _PACKAGE / in_wheel if _IS_WHEEL else _PACKAGE.parent.parent / in_build
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; this installation of the package is not complete")
    return path


def command_line() -> Path:
    """The executable `ost`."""
    return _find("bin/ost", "bin/ost")


def cmake_dir() -> Path:
    """For find_package(ostinato)."""
    return _find("lib/cmake/ostinato", "ostinatoConfig.cmake").parent if not _IS_WHEEL else _find("lib/cmake/ostinato", "")


def include_dir() -> Path:
    """The headers of the SDK: ostinato/ostinato.h, ostinato/plugin.h."""
    return _find("include", "include")


def plugin_dir() -> Path:
    """Where plugins are found: a plugin that is put there is loaded."""
    return _find("lib/ostinato-plugins", "lib/ostinato-plugins")
