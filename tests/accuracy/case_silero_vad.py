"""silero-vad's speech or silence, on the recordings of Debian's package alsa-utils.

It needs torchaudio and soundfile, and the recordings in /usr/share/sounds/alsa or the folder that the
environment variable ALSA_SOUNDS names.
"""
import os
import pathlib

import silero_vad
import soundfile
import torch
import torchaudio

from accuracy import Case

RATE = 16000
LEAST = 8  # windows of speech: the original's shortest is 250 ms


def make(folder):
    home = pathlib.Path(os.environ.get("ALSA_SOUNDS", "/usr/share/sounds/alsa"))
    files = sorted(home.glob("*.wav"))
    if not files:
        raise SystemExit(f"accuracy: {home}: no recordings: install alsa-utils, or set ALSA_SOUNDS")
    lines = [f"{path}\t{'silence' if path.stem == 'Noise' else 'speech'}" for path in files]
    (folder / "files.tsv").write_text("\n".join(["file\tlabel", *lines]) + "\n")
    model = silero_vad.load_silero_vad(onnx=True)
    original = []
    for path in files:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        mono = torch.from_numpy(samples.T.copy()).mean(0)
        mono = torchaudio.functional.resample(mono, rate, RATE)
        model.reset_states()
        score = sorted(model.audio_forward(mono[None], RATE)[0].tolist())[-LEAST]
        is_speech = bool(silero_vad.get_speech_timestamps(mono, model))
        original.append(("speech", score) if is_speech else ("silence", 1 - score))
    return Case("silero_vad", str(folder / "files.tsv"), original,
                "PyPI's silero-vad 6.2.3",
                f"the {len(files)} recordings of Debian's alsa-utils: eight say the name of a loudspeaker, "
                "one is noise",
                "get_speech_timestamps, which finds speech or none, after torchaudio's resample; its score "
                f"is the {LEAST}th highest probability of audio_forward",
                ("top1", "f1_macro"))
