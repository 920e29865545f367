"""The files of the repository: what git tracks or would track, or all files where there is no git."""

import os
import subprocess
from pathlib import Path

NOT_SOURCE = {".git", ".venv", "build", "__pycache__"}


def repo_files(root: Path) -> list[str]:
    """Sorted paths relative to root, with forward slashes."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        run = subprocess.run(command, capture_output=True, check=True)
        names = [name for name in run.stdout.decode().split("\0") if name and (root / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in NOT_SOURCE]
            names += [(Path(folder) / name).relative_to(root).as_posix() for name in files]
    return sorted(set(names))
