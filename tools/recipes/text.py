"""Language models: encoders, decoders, and both together, of transformers."""

from .recipe import DTYPES, Failure, Input, Recipe, calling, line_of, need, tokens


def encoder_recipe(model, options, high):
    module = calling(model, ["input_ids", "attention_mask"], ["last_hidden_state"], return_dict=True)
    return Recipe(module, [tokens("input_ids", options, high), tokens("attention_mask", options, 2)])


def prefill_recipe(model, options, high, **fixed):
    """Reads all tokens, and gives the scores behind each of them."""
    module = calling(model, ["input_ids"], ["logits"], return_dict=True, use_cache=False, **fixed)
    return Recipe(module, [tokens("input_ids", options, high)])


def bert(_, options):
    transformers = need("transformers")
    config = transformers.BertConfig(attn_implementation=options.attention)
    return encoder_recipe(transformers.BertModel(config, add_pooling_layer=False), options, config.vocab_size)


def gpt2(name, options):
    transformers = need("transformers")
    config = transformers.GPT2Config(attn_implementation=options.attention)
    model = transformers.GPT2LMHeadModel(config)
    if name == "gpt2-prefill":
        return prefill_recipe(model, options, config.vocab_size)
    past = [config.n_layer, 2, "batch", config.n_head, options.sequence, config.n_embd // config.n_head]
    return Recipe(decode(model), [Input("input_ids", "int64", ["batch", 1], config.vocab_size),
                                  Input("past_key_values", DTYPES[options.dtype], past)])


def decode(model):
    torch = need("torch")
    import generation_models

    class Decode(torch.nn.Module):
        """Computes one token after `past_key_values`, [layer, key or value, batch, head, position, feature].
        """

        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, past_key_values):
            past = [tensor for pair in past_key_values for tensor in pair]
            cache = generation_models.fill_cache(self.model, past)
            return self.model(input_ids=input_ids, past_key_values=cache, use_cache=True,
                              return_dict=True).logits

    return Decode()


def generator(name, options):
    need("transformers")
    import generation_models
    module, inputs, outputs = generation_models.decoder(name, options.attention or "eager")
    dtype = DTYPES[options.dtype]
    ports = [Input(port, "int64" if high else dtype, shape, high) for port, shape, high in inputs]
    lines = [line_of("output", port, dtype, shape) for port, shape in outputs]
    return Recipe(module, ports, outputs=lines, lengths=generation_models.LENGTHS,
                  checked_lengths=generation_models.CHECKED_LENGTHS)


def transformers_model(name, options):
    transformers = need("transformers")
    try:
        config = transformers.AutoConfig.for_model(name, attn_implementation=options.attention)
    except ValueError as error:
        raise Failure(f"transformers/{name}: {str(error).splitlines()[0][:200]}") from error
    return encoder_recipe(transformers.AutoModel.from_config(config), options, config.vocab_size)


# The class of transformers, and those sizes of its configuration that are not the default.
ENCODERS = {
    "roberta-base": ("Roberta", {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1,
                                 "layer_norm_eps": 1e-5}),
    "distilbert-base": ("DistilBert", {}),
    # The relative positions make it the third version.
    "deberta-v3-base": ("DebertaV2", {
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "vocab_size": 128100, "relative_attention": True, "position_buckets": 256, "type_vocab_size": 0,
        "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False, "max_relative_positions": -1, "attn_implementation": "eager"}),
}
DECODERS = {
    "opt-125m": ("OPT", {}),
    "mamba-130m": ("Mamba", {"vocab_size": 50280, "num_hidden_layers": 24}),
    "llama-7b": ("Llama", {}),
    "mistral-7b": ("Mistral", {}),
    "gemma2-2b": ("Gemma2", {}),
    "qwen3-0.6b": ("Qwen3", {
        "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True}),
    # Four of the 24 layers.
    "gpt-oss-4-layers": ("GptOss", {"num_hidden_layers": 4, "num_local_experts": 32}),
}
PAIRS = {
    "t5-base": ("T5", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "bart-base": ("Bart", {
        "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
        "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}),
}


def configured(named, options):
    """Returns the package, the family's name in it, and the configuration."""
    family, sizes = named
    transformers = need("transformers")
    config = getattr(transformers, family + "Config")(
        **{"attn_implementation": options.attention, **sizes})
    return transformers, family, config


def encoder(name, options):
    transformers, family, config = configured(ENCODERS[name], options)
    return encoder_recipe(getattr(transformers, family + "Model")(config), options, config.vocab_size)


def every_expert(experts, hidden, chosen, weights):
    """Returns the sum of what each expert gives for the tokens that chose it (tokens, hidden size).

    hidden: (tokens, hidden size); chosen and weights: (tokens, experts of a token). The loop runs over all
    experts: one over those that happen to be chosen, as transformers has it, would be fixed to the example.
    """
    torch = need("torch")
    total = torch.zeros_like(hidden)
    for expert in range(experts.num_experts):
        token, place = torch.where(chosen == expert)
        gate_up = hidden[token] @ experts.gate_up_proj[expert] + experts.gate_up_proj_bias[expert]
        given = experts._apply_gate(gate_up) @ experts.down_proj[expert] + experts.down_proj_bias[expert]
        total.index_add_(0, token, given * weights[token, place, None])
    return total


def decoder(name, options):
    transformers, family, config = configured(DECODERS[name], options)
    model = getattr(transformers, family + "ForCausalLM")(config)
    if family == "GptOss":
        transformers.integrations.moe.ExpertsInterface.register("every_expert", every_expert)
        model.set_experts_implementation("every_expert")
    return prefill_recipe(model, options, config.vocab_size)


def pair(name, options):
    transformers, family, config = configured(PAIRS[name], options)
    model = getattr(transformers, family + "ForConditionalGeneration")(config)
    names = ["input_ids", "decoder_input_ids"]
    module = calling(model, names, ["logits"], return_dict=True, use_cache=False)
    return Recipe(module, [tokens(one, options, config.vocab_size) for one in names])


RECIPES = {
    "bert-base": bert,
    "gpt2-prefill": gpt2,
    "gpt2-decode": gpt2,
    "gpt2-generate": generator,
    "llama-generate": generator,
    **dict.fromkeys(ENCODERS, encoder),
    **dict.fromkeys(DECODERS, decoder),
    **dict.fromkeys(PAIRS, pair),
}
PACKAGES = {"transformers": transformers_model}
