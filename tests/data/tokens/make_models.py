#!/usr/bin/env python3
"""Writes the tokenisers of this folder, which PyPI's sentencepiece trains on a few sentences, and prints what
it makes of the texts of pipelines/shared/text_test.cc.

  pip install sentencepiece==0.2.1 && tests/data/tokens/make_models.py
"""

import io
import pathlib

import sentencepiece

HERE = pathlib.Path(__file__).parent
SENTENCES = ["the queue is long", "the model answers the longest request", "a request waits in the queue",
             "answers are late where the queue is long", "no request is lost", "grüße aus dem modell"]
TEXTS = ["the queue answers", "  The  model\n", "Grüße", "", "猫"]

for kind, size in (("bpe", 60), ("unigram", 36)):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20), model_writer=model, model_type=kind, vocab_size=size,
        byte_fallback=False, normalization_rule_name="identity", num_threads=1, minloglevel=2)
    (HERE / f"{kind}.model").write_bytes(model.getvalue())
    tokeniser = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    for text in TEXTS:
        ids = tokeniser.encode(text)
        print(kind, repr(text), ids, repr(tokeniser.decode(ids)))
