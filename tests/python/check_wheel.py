#!/usr/bin/env python3
"""Builds the wheel, installs it into a new environment that sees nothing of the source tree, and runs the examples there.

usage: check_wheel.py SOURCE-FOLDER BUILD-FOLDER
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def run(*command: str, **more: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return str(done.stdout)


def main() -> None:
    source, build = (Path(a).resolve() for a in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # The compiler and warnings of the build around it and a folder beside it: then ccache has all of it.
        os.environ.pop("XDG_CACHE_HOME", None)  # that of the tests, which is empty
        cache = (build / "CMakeCache.txt").read_text()
        for variable, name in (("CC", "CMAKE_C_COMPILER"), ("CXX", "CMAKE_CXX_COMPILER")):
            os.environ[variable] = re.search(rf"^{name}:\w+=(.*)$", cache, re.M).group(1)  # type: ignore[union-attr]
        # The build requirements are in this environment already; a build of its own would fetch them again.
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder),
            "-Ccmake.define.OSTINATO_WERROR=ON", "-Cbuild-dir=" + str(build.parent / "wheel"), "-Ccmake.define.Python_EXECUTABLE=" + sys.executable, str(source))
        wheel = next(folder.glob("ostinato-*.whl"))
        run(sys.executable, "-m", "venv", str(folder / "env"))
        python = str(folder / "env/bin/python")
        run(python, "-m", "pip", "install", "-q", "--no-deps", str(wheel))
        # What it depends on is taken from this environment instead of the network.
        site = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
        (Path(site) / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "XDG_CACHE_HOME": str(build / "test-cache")}
        check(python, folder, source, env)
    print(f"{wheel.name}: built, installed, examples run")


def check(python: str, folder: Path, source: Path, env: dict[str, str]) -> None:
    where = run(python, "-c", "import ostinato; print(ostinato.__file__)", env=env, cwd=folder).strip()
    assert where.startswith(str(folder)), where
    devices = run(python, "-m", "ostinato", "devices", env=env, cwd=folder)
    assert "cpu:0" in devices, devices
    assert "ostinato" in run(str(folder / "env/bin/ost"), "version", env=env, cwd=folder)
    include = Path(run(python, "-m", "ostinato", "--include-dir", env=env, cwd=folder).strip())
    assert (include / "ostinato/plugin.h").is_file(), include
    plugins = Path(run(python, "-m", "ostinato", "--plugin-dir", env=env, cwd=folder).strip())
    assert list(plugins.glob("*.ostplugin.json")), plugins
    cmake = run(python, "-m", "ostinato", "--cmake-dir", env=env, cwd=folder).strip()
    project = folder / "use"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(use C)\nfind_package(ostinato REQUIRED)\n"
        "add_executable(use use.c)\ntarget_link_libraries(use PRIVATE ostinato::ostinato)\n"
    )
    (project / "use.c").write_text(
        "#include <ostinato/ostinato.h>\nint main(void) { return ost_version() == OST_VERSION ? 0 : 1; }\n"
    )
    run("cmake", "-S", str(project), "-B", str(project / "build"), f"-Dostinato_DIR={cmake}", env=env)
    run("cmake", "--build", str(project / "build"), env=env)
    run(str(project / "build/use"), env=env)
    for example in sorted((source / "examples/python").glob("*.py")):
        run(python, str(example), env=env, cwd=folder)


main()
