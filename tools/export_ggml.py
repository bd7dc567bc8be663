#!/usr/bin/env python3
"""Exports gpt2-generate and llama-generate of tools/export_torch.py, with the same weights, as GGUF, for
xsp's adapter `ggml` (llama.cpp).

  tools/export_ggml.py llama-generate -o llama.gguf

The names of the tensors are those of llama.cpp's GGUF files (PyPI's package gguf has them).
"""

import sys

import export_torch

# Parts of the names in transformers, and in GGUF.
GPT2_NAMES = {
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
    "lm_head": "output", "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
LLAMA_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def name_of(name, names):
    """Returns GGUF's name of a weight: transformer.h.3.ln_1.bias is blk.3.attn_norm.bias."""
    stem, _, kind = name.rpartition(".")
    for prefix in ("transformer.h.", "model.layers."):
        if stem.startswith(prefix):
            layer, _, part = stem[len(prefix):].partition(".")
            return f"blk.{layer}.{names[part]}.{kind}"
    return f"{names[stem]}.{kind}"


def interleaved(weight, heads):
    """Orders the rows of each head as llama.cpp rotates them: neighbours, where transformers takes halves."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def export_gguf(recipe, options):
    gguf = export_torch.need("gguf")
    if not recipe.outputs:
        raise export_torch.Failure(f"{options.model}: no GGUF is known of it: give gpt2-generate or "
                                   "llama-generate")
    model = recipe.module.model
    config = model.config
    is_llama = config.model_type == "llama"
    writer = gguf.GGUFWriter(options.output, config.model_type)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")
    if is_llama:
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    else:
        writer.add_feed_forward_length(4 * config.hidden_size)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue  # it is the weight that reads tokens
        weight = tensor.float().cpu().numpy()
        if ".c_" in name and name.endswith(".weight"):
            weight = weight.T.copy()  # transformers keeps GPT-2's weights as inputs by outputs
        if "q_proj" in name:
            weight = interleaved(weight, config.num_attention_heads)
        elif "k_proj" in name:
            weight = interleaved(weight, config.num_key_value_heads)
        if options.dtype == "fp16" and weight.ndim == 2 and "wpe" not in name:
            weight = weight.astype("float16")
        writer.add_tensor(name_of(name, LLAMA_NAMES if is_llama else GPT2_NAMES), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    sys.exit(export_torch.main({"gguf": (".gguf", export_gguf)}))
