#!/usr/bin/env bash
# Tests that the wheel of tools/package.sh, which is built without a network, installs into a fresh virtual environment,
# and works there: it records a block of a program, and answers questions about it.
#
#   tests/integration/wheel.sh PACKAGES     the folder that packages.sh --make filled
set -euo pipefail
packages=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "wheel: $1" >&2; exit 1; }
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 TMPDIR="$scratch"

cd "$scratch"
# The system's Python may have torch.
/usr/bin/python3 -m venv --without-pip --system-site-packages venv || fail "there is no virtual environment"
python3 -m pip --python venv/bin/python install --quiet --no-deps "$packages"/*.whl || fail "it cannot be installed"
venv/bin/xsp --version >/dev/null || fail "its command xsp does not run"

cat >program.py <<'PROGRAM'
import xsp

try:
    import torch
except ImportError:
    torch = None

@xsp.profile("decorated.xsp", levels="application")
def work():
    with xsp.span("inside", type="part"):
        pass

with xsp.span("before"):
    pass
with xsp.profile("block.xsp", name="a block") as recording:
    with xsp.span("load", type="part"):
        pass
    with xsp.profile() as within:
        pass
    if torch is not None:
        net = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
        for _ in range(6):
            net(torch.ones(3, 4))
assert within.result is None
work()
with xsp.span("after"):
    pass

block = recording.result
spans = block.query("SELECT name, type FROM span WHERE level = 1 AND type <> 'step' ORDER BY name")
assert spans.column("name") == ["a block", "load", "program"], spans.to_dicts()
assert block.facts["model"] == "a block" and block.facts["xsp_version"]
assert len(xsp.open("decorated.xsp").query("FROM span WHERE name = 'inside'")) == 1
assert "<td>load</td>" in spans._repr_html_() and "a block" in block._repr_html_()
assert "layer_information" in xsp.analyses().column("name")
if torch is not None:
    layers = block.analysis("layer_information", batch=3)
    assert len(layers) > 4 and {"name", "latency_ns"} <= set(layers.columns), layers.columns
    assert layers.to_dicts()[0]["name"] == "0"
    try:
        block.analysis("kernel_information")
    except RuntimeError as error:
        assert str(error).startswith("not measured: level kernel"), error
    else:
        raise AssertionError("kernels were not recorded")
try:
    xsp.profile(levels="kernel")
except ValueError:
    pass
else:
    raise AssertionError("kernels cannot be recorded from inside")
try:
    xsp.open("absent.xsp")
except FileNotFoundError:
    pass
else:
    raise AssertionError("there is no such file")
PROGRAM
venv/bin/python program.py || fail "the program failed"
# The same works under `xsp run`, from the same environment.
venv/bin/xsp run --quiet -o run.xsp -- venv/bin/python -c 'import xsp
with xsp.profile("none.xsp", name="part") as recording: pass
assert recording.result is None' || fail "a program cannot be watched"
[ "$(venv/bin/xsp query run.xsp "SELECT name FROM span WHERE type = 'profile'" --format csv | tail -n 1)" = part ] ||
  fail "a block is not a span of the run"
[ ! -e none.xsp ] || fail "a block of a watched program has a file of its own"
echo "the wheel works in a fresh environment"
