"""python -m ostinato: the command line `ost`, and where the package's parts are for those who build on it."""

from __future__ import annotations

import os
import sys

from . import paths

_FOLDERS = {"--cmake-dir": paths.cmake_dir, "--include-dir": paths.include_dir, "--plugin-dir": paths.plugin_dir}


def main() -> int:
    arguments = sys.argv[1:]
    if arguments and arguments[0] in _FOLDERS:
        if len(arguments) > 1:
            print(f"ostinato: {arguments[0]} is alone on its line", file=sys.stderr)
            return 2
        print(_FOLDERS[arguments[0]]())
        return 0
    program = str(paths.command_line())
    os.execv(program, [program, *arguments])


if __name__ == "__main__":
    sys.exit(main())
