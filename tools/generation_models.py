"""Language models that generate, with random weights, for the exporters.

A model reads tokens behind those of a cache, which the caller holds. Its inputs and outputs have the names
that exporters of decoders use, and all lengths may vary:

  input_ids                             int64 [batch, sequence]
  past_key_values.LAYER.key and .value  float [batch, head, past_sequence, feature]
  logits, of the last token             float [batch, 1, token]
  present.LAYER.key and .value          as the past ones, with the new tokens
"""

import torch
import transformers

# The sizes are those of GPT-2 small, and of a Llama with as many layers, whose heads share keys and values.
GPT2 = {}
LLAMA = {"vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12,
         "num_attention_heads": 12, "num_key_value_heads": 4, "max_position_embeddings": 1024}
LENGTHS = {"sequence": 3, "past_sequence": 5}  # of an example; 1 would be taken for a constant
CHECKED_LENGTHS = ({"sequence": 1, "past_sequence": 7}, {"sequence": 4, "past_sequence": 0})


def fill_cache(model, past):
    """Returns a cache that holds `past`, a key and a value for each layer, without a copy of it."""
    cache = transformers.DynamicCache(config=model.config)
    for layer, key, value in zip(cache.layers, past[::2], past[1::2]):
        layer.dtype, layer.device, layer.is_initialized = key.dtype, key.device, True
        layer.keys, layer.values = key, value
    return cache


class Decoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, *past):
        before = past[0].shape[2]
        positions = torch.arange(before + input_ids.shape[1], device=input_ids.device)
        new = positions[before:]
        # The mask is made here, because what transformers makes is fixed to the lengths of the example.
        is_later = positions[None, :] > new[:, None]
        mask = torch.zeros(is_later.shape, dtype=past[0].dtype, device=input_ids.device)
        mask = mask.masked_fill(is_later, torch.finfo(mask.dtype).min)[None, None]
        cache = fill_cache(self.model, past)
        mask = mask.expand(input_ids.shape[0], 1, -1, -1)
        logits = self.model(input_ids=input_ids, attention_mask=mask, position_ids=new[None],
                            cache_position=new, past_key_values=cache, use_cache=True, logits_to_keep=1,
                            return_dict=True).logits
        return (logits, *(tensor for layer in cache.layers for tensor in (layer.keys, layer.values)))


def decoder(name, attention):
    """Returns the module, and the name, the shape and, of integers, the highest value of each input; and the
    name and the shape of each output."""
    if name.startswith("gpt2"):
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2, attn_implementation=attention))
    else:
        config = transformers.LlamaConfig(**LLAMA, attn_implementation=attention)
        model = transformers.LlamaForCausalLM(config)
    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    features = config.hidden_size // config.num_attention_heads
    inputs = [("input_ids", ["batch", "sequence"], config.vocab_size)]
    outputs = [("logits", ["batch", 1, config.vocab_size])]
    for layer in range(config.num_hidden_layers):
        for part in (f"{layer}.key", f"{layer}.value"):
            inputs.append((f"past_key_values.{part}", ["batch", heads, "past_sequence", features], None))
            outputs.append((f"present.{part}", ["batch", heads, "all", features]))
    return Decoder(model), inputs, outputs
