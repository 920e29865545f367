"""What holds for a whole process: settings, forks, the time and the size of an import."""

import os
import subprocess
import sys

import pytest


def run(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_devices_and_plugins_are_listed():
    out = run(
        "import ostinato as o\n"
        "d = {x.id: x for x in o.devices()}\n"
        "assert d['ref:0'].available and d['ref:0'].kind == 'reference', d\n"
        "assert any(p.driver == 'ref' and p.status == 'loaded' for p in o.plugins())\n"
        "print(sorted(d))"
    )
    assert "cpu:0" in out


def test_settings_come_first():
    run(
        "import ostinato as o\n"
        "o.configure(plugins='ref', cache='off', options={'cpu.threads': '1'})\n"
        "assert {d.id for d in o.devices()} == {'ref:0'}, o.devices()\n"
        "try: o.configure(); raise SystemExit('no error')\n"
        "except RuntimeError as e: assert 'before anything else' in str(e)\n"
    )
    run(
        "import ostinato as o\n"
        "try: o.configure(numerics='quick'); raise SystemExit('no error')\n"
        "except ValueError as e: assert 'strict' in str(e)\n"
    )


def test_a_fork_raises_instead_of_hanging():
    run(
        "import os, ostinato as o, numpy as np\n"
        "x = o.Tensor(np.ones(4, 'f4')); (x + 1).numpy()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try: o.Tensor([1.0]); os._exit(1)\n"
        "    except RuntimeError as e: os._exit(0 if 'forked' in str(e) else 2)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    run(
        "import os, ostinato as o, numpy as np\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    ok = (o.Tensor(np.ones(4, 'f4')) + 1).numpy().sum() == 8\n"
        "    os._exit(0 if ok else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )


def test_the_import_is_small():
    """No NumPy and no device until they are needed; the time itself is in docs/python.md."""
    out = run(
        "import sys, ostinato as o\n"
        "print([m for m in ('numpy', 'torch', 'ml_dtypes', 'onnx') if m in sys.modules])"
    )
    assert out == "[]"


@pytest.mark.parametrize("numerics", ["strict", "fast"])
def test_numerics_is_a_setting(numerics):
    run(
        f"import ostinato as o, numpy as np; o.configure(numerics='{numerics}')\n"
        "f = o.jit(lambda x: o.exp(x) @ x)\n"
        "x = o.Tensor(np.eye(4, dtype='f4')); f(x); f(x)\n"
        f"assert f.program._describe('numerics') == '{numerics}'"
    )


def test_exits_cleanly_with_work_left():
    run("import ostinato as o, numpy as np; x = o.Tensor(np.ones(4, 'f4')); y = x + 1; f = o.jit(lambda a: a * 2); f(x)")
    run("import ostinato as o, numpy as np; a = np.ones(64, 'f4'); t = o.from_dlpack(a, device='cpu:0'); u = t + 1")
