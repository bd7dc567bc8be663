"""What the pages of results have in common (results_page.py, results_frameworks.py): they ask a catalogue, in
SQL, and write Markdown."""
import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import textwrap

SYSTEMS = "SELECT fingerprint, facts FROM system ORDER BY fingerprint"
FACTS = {"GPU": "gpu.0.name", "driver": "gpu.driver_version", "CUDA": "gpu.cuda_version",
         "processor": "machine.cpu", "processors": "machine.processors", "system": "machine.os",
         "highest clock, MHz": "gpu.0.max_sm_clock_mhz", "power limit, W": "gpu.0.power_limit_w"}

# Latency and throughput are those of the evaluation over batch sizes, which has the most inferences.
# A model without a batch has batch 0 in the catalogue, and one inference is one input here.
FIGURES = """WITH known AS (
  SELECT m.name AS model, f.name AS framework, max(1, e.batch) AS batch, e.started_at, e.facts, r.*,
    e.file NOT LIKE '%.batches.xsp' AS is_deep, r.metric IN ('inference.latency', 'throughput') AS is_plain
  FROM result r JOIN evaluation e ON e.id = r.evaluation JOIN model m ON m.id = e.model
    JOIN framework f ON f.id = e.framework),
figure AS (
  SELECT *, row_number() OVER (PARTITION BY model, framework, batch, metric
    ORDER BY is_plain = is_deep, started_at DESC) AS age FROM known)"""

NAMES = {"torch": "PyTorch", "torch+aotinductor": "torch.compile", "onnxruntime": "ONNX Runtime",
         "tensorrt": "TensorRT", "pjrt": "XLA"}


class Catalogue:
    def __init__(self, xsp, place):
        self.xsp, self.place = xsp, place

    def rows(self, sql):
        done = subprocess.run([self.xsp, "catalogue", "query", "--db", self.place, sql, "--all", "--format",
                               "json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def shown(value, scale=1.0, digits=3):
    if value is None:
        return "not measured"
    scaled = value * scale
    return f"{scaled:.{digits}g}" if abs(scaled) < 1000 else f"{scaled:,.0f}"


def interval(row):
    if row["low"] is None:
        return shown(row["latency"], 1e-6)
    half = (row["high"] - row["low"]) / 2 * 1e-6
    return f"{row['latency'] * 1e-6:.3g} ± {half:.2g}"


def link(model):
    return f"[{model}](site/models/{model}.html)"


def wrapped(text):
    """Returns its first paragraph in lines of a page's width."""
    first, *others = text.split("\n\n")
    lines = textwrap.wrap(first, 150, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(["\n".join(lines), *others])


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", required=True, help="the program")
    parser.add_argument("--evaluations", required=True, type=pathlib.Path, help="the evaluations' folder")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path, help="the page's folder")
    return parser.parse_args()


@contextlib.contextmanager
def catalogue_of(args):
    """Writes the site, and yields its catalogue; the evaluations' folder stays as it is."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in args.evaluations.glob("*.xsp"):
            shutil.copy(file, folder)
        subprocess.run([args.xsp, "site", folder, "-o", args.output / "site", "--quiet"], check=True)
        yield Catalogue(args.xsp, folder / "catalogue.sqlite")


def machines_table(catalogue):
    return table([*FACTS, "fingerprint"], [
        [*(json.loads(row["facts"]).get(key, "not known") for key in FACTS.values()), row["fingerprint"]]
        for row in catalogue.rows(SYSTEMS)])


def write_page(args, parts):
    text = (args.output / "method.md").read_text(encoding="utf-8").rstrip()
    (args.output / "README.md").write_text("\n\n".join([text, *parts]) + "\n", encoding="utf-8")
