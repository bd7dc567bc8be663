"""basic-pitch's transcription, on notes that are synthesised here.

Its package wants TensorFlow, which its ONNX model does not need: pip install --no-deps basic-pitch==0.4.0,
then librosa, resampy, mir_eval, pretty_midi and scipy.
"""
import pathlib
import wave

import basic_pitch
import numpy
from basic_pitch.inference import Model, run_inference

from accuracy import Rolls

RATE = 22050
LOWEST = 21  # the first of 88 keys, as a MIDI number
RECORDINGS, NOTES = 3, 10
WINDOW_ROWS, WINDOW_HOP, ROW_HOP = 142, 36164, 256
WEIGHTS = pathlib.Path(basic_pitch.__file__).parent / "saved_models/icassp_2022/nmp.onnx"


def recording(random):
    """Returns samples, and (begin, end, key) of each note, in samples. Up to two notes sound at once."""
    samples = numpy.zeros(RATE * (NOTES // 2 + 2))
    notes = []
    for i in range(NOTES):
        begin = int(RATE * (0.5 + i // 2 * 1.0))
        length = int(RATE * random.uniform(0.5, 0.9))
        key = int(random.integers(24, 42) + 12 * (i % 2))
        time = numpy.arange(length) / RATE
        pitch = 440 * 2 ** ((key + LOWEST - 69) / 12)
        tone = sum(numpy.sin(2 * numpy.pi * pitch * k * time) / k ** 1.5 for k in range(1, 9))
        envelope = numpy.minimum(1, time / 0.01) * numpy.exp(-1.5 * time)
        envelope *= numpy.minimum(1, (time[-1] - time) / 0.02)
        samples[begin:begin + length] += 0.2 * tone * envelope
        notes.append((begin, begin + length, key))
    return samples, notes


def truth(notes, rows):
    """Returns which keys sound in each row of the answer."""
    result = numpy.zeros((rows, 88), bool)
    place = numpy.arange(rows)
    place = place // WINDOW_ROWS * WINDOW_HOP + place % WINDOW_ROWS * ROW_HOP
    for begin, end, key in notes:
        result[(place >= begin) & (place < end), key] = True
    return result


def make(folder):
    random = numpy.random.default_rng(1)
    model = Model(WEIGHTS)
    files, original, right = [], [], []
    for i in range(RECORDINGS):
        samples, notes = recording(random)
        files.append(folder / f"notes{i}.wav")
        with wave.open(str(files[-1]), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
        original.append(run_inference(files[-1], model)["note"])
        right.append(truth(notes, len(original[-1])))
    return Rolls("basic_pitch", files, original, right, "StatefulPartitionedCall:1", 0.3,
                 "PyPI's basic-pitch 0.4.0",
                 f"{RECORDINGS * NOTES} notes of eight partials in {RECORDINGS} recordings, synthesised at "
                 f"{RATE:,} Hz; a key sounds in a row where its probability is 0.3 at least",
                 "basic_pitch.inference.run_inference with the package's ONNX model")
