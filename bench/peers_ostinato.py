"""This project as a column of the peers' benchmark (a harness that takes `--plugin bench/peers_ostinato.py`).

A workload is captured from its graph; a call is one run of the captured program with its inputs bound, as the other
peers keep theirs. PYTHONPATH names the folder of the package: build/release/python, or an installed wheel.
"""

import os

from peers import ArrayOps, Peer, Runner, start_input


class Operations(ArrayOps):
    """The graphs' operations by their own names where the package has them."""

    def __init__(self):
        import ostinato

        super().__init__(ostinato)
        self.relu, self.silu = ostinato.relu, ostinato.silu
        self.softmax, self.layernorm = ostinato.softmax, ostinato.layernorm


def captured(w, acts, params):
    """The program of a workload; parameters are what the function closes over, and never change."""
    import ostinato

    constants = [ostinato.Tensor(a, device="cpu:0").freeze() for a in params.values()]
    inputs = [ostinato.Tensor(a, device="cpu:0") for a in acts.values()]
    ops = Operations()
    function = ostinato.jit(lambda *t: w.graph(ops, *t, *constants))
    function(*inputs), function(*inputs)
    return function.program


class Ostinato(Peer):
    name, title = "ostinato", "ostinato, strict numerics, captured program"
    has_cache = True
    artefacts = ("manifest", "manifest with images")

    @staticmethod
    def env(threads, cache):
        return {"OSTINATO_CACHE_DIR": os.path.join(cache, "ostinato"), "OSTINATO_OPTIONS": f"cpu.threads={threads}"}

    def __init__(self, threads, cache):
        super().__init__(threads, cache)
        import ostinato

        self.version = ostinato.__version__

    def build(self, w, acts, params, folder):
        program = captured(w, acts, params)
        on = program.on("cpu:0")
        on.bind(*acts.values())
        return Runner(on._core.run, on.outputs, lambda: program.launches)

    def save(self, kind, w, acts, params, folder):
        program = captured(w, acts, params)
        if kind != "manifest":
            program = program.link("cpu:0")
        program.save(os.path.join(folder, "w.ost.json"))

    @staticmethod
    def start(kind, folder, mark):
        import numpy  # noqa: F401
        import ostinato

        mark("import")
        program = ostinato.load(os.path.join(folder, "w.ost.json"), trust=kind != "manifest")
        on = program.on("cpu:0")
        mark("load")
        result = on(start_input(folder))
        mark("run")
        return result
