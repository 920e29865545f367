"""What `options=` of torch.compile may say."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Options:
    """device: "cpu:0", or what `ostinato.devices()` lists. numerics: "strict" or "fast". memory_budget: elements; a
    larger intermediate is stored. save: a path; each compiled graph is saved as a program beside it, parameters as
    constants: model.ost.json, model.1.ost.json, ..."""

    device: str = "cpu:0"
    numerics: str = "strict"
    memory_budget: int = 0
    save: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any] | None, **more: Any) -> Options:
        values = {**(given or {}), **{k: v for k, v in more.items() if v is not None}}
        names = [f.name for f in fields(cls)]
        for name in values:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"option {name!r}: there are {', '.join(names)}{hint}")
        out = cls(**{k: os.fspath(v) if k == "save" and v else v for k, v in values.items()})
        if out.numerics not in ("strict", "fast"):
            raise ValueError(f"option numerics is {out.numerics!r}, wanted 'strict' or 'fast'")
        return out
