"""basic-pitch's transcription by TensorFlow: its package has the same weights as a SavedModel."""
import dataclasses

import case_basic_pitch
from accuracy import ROOT

SHIPPED = ROOT / "manifests/packages/basic_pitch.yaml"
# The SavedModel names its tensors otherwise.
NAMES = {"serving_default_input_2:0": "input_2", "StatefulPartitionedCall:1": "note",
         "StatefulPartitionedCall:2": "onset", "StatefulPartitionedCall:0": "contour"}


def make(folder):
    text = SHIPPED.read_text(encoding="utf-8")
    begin, end = text.index("framework:"), text.index("hardware:")
    model = case_basic_pitch.WEIGHTS.with_suffix("")
    (folder / "nmp").symlink_to(model)
    text = text[:begin] + "framework: {name: tensorflow}\nmodel: {path: nmp}\n" + text[end:]
    for old, new in NAMES.items():
        assert text.count(f"name: {old}") == 1, old
        text = text.replace(f"name: {old}", f"name: {new}")
    (folder / "basic_pitch.yaml").write_text(text, encoding="utf-8")
    rolls = case_basic_pitch.make(folder)
    return dataclasses.replace(rolls, manifest=str(folder / "basic_pitch.yaml"), output="note",
                               weights="the SavedModel in PyPI's basic-pitch 0.4.0, run by TensorFlow")
