"""Runs transformers' generate with random weights. generate.py gpt2|llama [--turns]

With --turns it generates on request (turns.py).
"""
import sys

import torch
import transformers
import turns

torch.manual_seed(0)
if sys.argv[1] == "gpt2":
    config = transformers.GPT2Config(n_layer=12, n_head=12, n_embd=768)
    model = transformers.GPT2LMHeadModel(config)
else:
    config = transformers.LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=32000)
    model = transformers.LlamaForCausalLM(config)
model = model.eval().cuda().to(torch.bfloat16)
tokens = torch.randint(0, 30000, (1, 32), device="cuda")


def generate():
    out = model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=24, min_new_tokens=24,
                         do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()
    return out


with torch.inference_mode():
    print(tuple(generate().shape), file=sys.stderr)
    if turns.told():
        turns.answer(generate)
