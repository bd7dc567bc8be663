"""Records a part of a program into an .xsp file, without `xsp run`."""

import contextlib
import os
import shutil
import sys
import tempfile

from . import _attach, _calls, _evaluation, _native, _program

# The levels that a process can record itself: only `xsp run` can watch the device.
_LEVELS = {"application": 1, "model": 2, "layer": 3}


def _names_of(levels):
    if isinstance(levels, str):
        levels = list(_LEVELS) if levels == "all" else levels.split(",")
    wanted = {level.strip() for level in levels} | {"application"}
    unknown = sorted(wanted - set(_LEVELS))
    if unknown:
        raise ValueError(
            f"level {unknown[0]}: is not recorded from inside: one of {', '.join(_LEVELS)}, or all"
        )
    return [name for name in _LEVELS if name in wanted]


class profile(contextlib.ContextDecorator):
    """Records a block, or every call of a function, into an .xsp file.

        with xsp.profile("infer.xsp") as recording:
            for batch in batches:
                model(batch)
        recording.result.analysis("layer_information").to_pandas()

        @xsp.profile("train.xsp")
        def train(): ...

    Modules and operators of PyTorch are recorded, and spans of your own. Kernels of a device are not:
    `xsp run` records these. Under `xsp run` the block is a span of what that records, and there is no
    file of its own. One block at a time can be recorded in a process.

    Args:
        output: the .xsp file, which is replaced; by default the program's name, here.
        levels: "all", or of application, model and layer: "model,layer".
        name: what is measured; by default the file's name.

    Attributes:
        result: an xsp.Evaluation once the block has ended, or None.
    """

    def __init__(
        self,
        output: "str | os.PathLike[str] | None" = None,
        levels: "str | list[str]" = "all",
        name: "str | None" = None,
    ) -> None:
        program = os.path.splitext(os.path.basename(sys.argv[0] or "python"))[0] or "python"
        self._output = os.fspath(output) if output is not None else f"{program}.xsp"
        self._name = name or os.path.splitext(os.path.basename(self._output))[0]
        self._levels = _names_of(levels)
        self._folder = None
        self._span = None
        self.result: "_evaluation.Evaluation | None" = None

    def _recreate_cm(self):
        return self

    def __enter__(self) -> "profile":
        self.result = None
        bits = sum(1 << _LEVELS[level] for level in self._levels)
        folder = tempfile.mkdtemp(prefix="xsp-")
        try:
            is_started = _native.start(os.path.join(folder, "trace.xtrace"), bits)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if is_started:
            self._folder = folder
            _calls.recording_begins()
            _attach.install()
        else:
            shutil.rmtree(folder, ignore_errors=True)
        self._span = _native.site(1, self._name, "profile"), _native.now_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        _native.emit(*self._span)
        if self._folder is None:
            return
        folder, self._folder = self._folder, None
        try:
            _calls.recording_ends()
            _native.stop()
            traces = sorted(entry.path for entry in os.scandir(folder) if entry.name.endswith(".xtrace"))
            levels = ",".join(self._levels)
            _program.run(
                "import", *traces, "-o", self._output, "--levels", levels, "--name", self._name, "--quiet"
            )
            self.result = _evaluation.Evaluation(self._output)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
