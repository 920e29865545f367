"""What an AMDGPU code object says: a reader of its ELF head and of the MessagePack of its notes, with the standard library."""

import struct
from typing import Any

EM_AMDGPU, PT_NOTE, NT_METADATA, SHT_SYMTABS = 0xE0, 4, 32, (2, 11)


def unpack(data: bytes, at: int = 0) -> tuple[Any, int]:
    """One value of MessagePack, and where the next one starts."""
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 256, at
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if 0xCC <= kind <= 0xD3:
        code = "BHIQbhiq"[kind - 0xCC]
        size = struct.calcsize(code)
        return struct.unpack_from(">" + code, data, at)[0], at + size
    widths = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC4: 1, 0xC5: 2, 0xC6: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
    if kind in widths:
        count, at = int.from_bytes(data[at : at + widths[kind]], "big"), at + widths[kind]
    elif kind < 0x90:
        count, kind = kind & 0x0F, 0xDE
    elif kind < 0xA0:
        count, kind = kind & 0x0F, 0xDC
    elif kind < 0xC0:
        count, kind = kind & 0x1F, 0xD9
    else:
        raise ValueError(f"unknown kind {kind:#x} in the metadata")
    if kind in (0xD9, 0xDA, 0xDB):
        return data[at : at + count].decode(), at + count
    if kind in (0xC4, 0xC5, 0xC6):
        return data[at : at + count], at + count
    if kind in (0xDC, 0xDD):
        items = []
        for _ in range(count):
            item, at = unpack(data, at)
            items.append(item)
        return items, at
    pairs = {}
    for _ in range(count):
        key, at = unpack(data, at)
        pairs[key], at = unpack(data, at)
    return pairs, at


class CodeObject:
    """`kernels` by name, each with the fields of its metadata; `symbols`: name to size."""

    def __init__(self, data: bytes) -> None:
        if data[:4] != b"\x7fELF" or struct.unpack_from("<H", data, 18)[0] != EM_AMDGPU:
            raise ValueError("no AMDGPU ELF file")
        self.flags = struct.unpack_from("<I", data, 48)[0]
        metadata = self._metadata(data)
        self.target = metadata["amdhsa.target"].rpartition("--")[2]
        self.kernels = {k[".name"]: k for k in metadata["amdhsa.kernels"]}
        self.symbols = dict(self._symbols(data))

    @staticmethod
    def _metadata(data: bytes) -> dict:
        at, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        for i in range(count):
            kind, _, start, _, _, size = struct.unpack_from("<IIQQQQ", data, at + 56 * i)
            end = start + size
            while kind == PT_NOTE and start < end:
                name_size, body_size, note = struct.unpack_from("<III", data, start)
                body = start + 12 + (name_size + 3) // 4 * 4
                if note == NT_METADATA:
                    return unpack(data[body : body + body_size])[0]
                start = body + (body_size + 3) // 4 * 4
        raise ValueError("no metadata")

    @staticmethod
    def _symbols(data: bytes):
        at, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(count)]
        for section in sections:
            if section[1] not in SHT_SYMTABS:
                continue
            names = sections[section[6]][4]
            for entry in range(section[4], section[4] + section[5], 24):
                name, _, _, _, _, size = struct.unpack_from("<IBBHQQ", data, entry)
                end = data.index(b"\0", names + name)
                yield data[names + name : end].decode(), size
