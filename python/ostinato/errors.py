"""Errors of the library as exceptions: one class for each kind that a program can act on."""

from __future__ import annotations


class Error(RuntimeError):
    """What the library reports. `status` is its kind ("invalid_argument"), `native_code` the device
    vendor's own code, `rule` the rule of the plugin interface that was broken; 0 where there is none."""

    status = "unknown"

    def __init__(self, message: str, native_code: int = 0, retryable: bool = False, rule: int = 0) -> None:
        super().__init__(message)
        self.native_code = native_code
        self.retryable = retryable
        self.rule = rule


class InvalidArgumentError(Error, ValueError):
    status = "invalid_argument"


class NotFoundError(Error, LookupError):
    status = "not_found"


class UnavailableError(Error):
    """A device or plugin that cannot be used now."""

    status = "unavailable"


class UnimplementedError(Error, NotImplementedError):
    status = "unimplemented"


class OutOfMemoryError(Error, MemoryError):
    status = "out_of_memory"


class WaitTimeoutError(Error, TimeoutError):
    status = "timeout"


class CancelledError(Error):
    status = "cancelled"


class IncompatibleError(Error):
    """Another version, format or target than the one that is wanted."""

    status = "incompatible"


class CompileError(Error):
    status = "compile_failed"


class DeviceLostError(Error):
    """Sticky: the device must be opened again."""

    status = "device_lost"


class DataLossError(Error):
    """A file or an image whose content is damaged."""

    status = "data_loss"


class BusyError(Error):
    status = "busy"


class InternalError(Error):
    status = "internal"


class JitError(Error):
    """The contract of captured functions was broken: docs/capture.md."""

    status = "jit_error"


class FileError(Error, OSError):
    status = "io_error"


# By the values of ost_status_t.
_CLASSES: dict[int, type[Error]] = {
    1: InvalidArgumentError,
    2: NotFoundError,
    3: UnavailableError,
    4: UnimplementedError,
    5: OutOfMemoryError,
    6: WaitTimeoutError,
    7: CancelledError,
    8: IncompatibleError,
    9: CompileError,
    10: DeviceLostError,
    11: DataLossError,
    12: BusyError,
    13: InternalError,
    14: JitError,
    15: FileError,
}


def make(status: int, message: str, native_code: int, flags: int, rule: int) -> Error:
    """The exception for an error of the C ABI."""
    return _CLASSES.get(status, Error)(message, native_code, bool(flags & 1), rule)
