"""Models of speech: recognition and separation, of transformers and torchaudio."""

from .recipe import DTYPES, Input, Recipe, calling, need, tokens

SECOND = 16000  # samples


def whisper(_, options):
    """Encodes 30 seconds, and gives the scores behind 32 tokens of the text."""
    transformers = need("transformers")
    config = transformers.WhisperConfig(
        d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
        attn_implementation=options.attention)
    model = transformers.WhisperForConditionalGeneration(config)
    module = calling(model, ["input_features", "decoder_input_ids"], ["logits"], return_dict=True,
                     use_cache=False)
    return Recipe(module, [Input("input_features", DTYPES[options.dtype], ["batch", 80, 3000]),
                           tokens("decoder_input_ids", options, config.vocab_size, 32)])


def wav2vec2(_, options):
    transformers = need("transformers")
    config = transformers.Wav2Vec2Config(attn_implementation=options.attention)
    module = calling(transformers.Wav2Vec2Model(config), ["input_values"], ["last_hidden_state"],
                     return_dict=True)
    return Recipe(module, [Input("input_values", DTYPES[options.dtype], ["batch", SECOND])])


def conformer(_, options):
    """Encodes 400 frames of 80 features: the encoder of Gulati et al. 2020, size S, behind its
    convolutions."""
    torch = need("torch")
    models = need("torchaudio.models")

    class Encoder(torch.nn.Module):
        """All sequences of a batch have the same length."""

        def __init__(self):
            super().__init__()
            self.projection = torch.nn.Linear(80, 144)
            self.layers = models.Conformer(input_dim=144, num_heads=4, ffn_dim=576, num_layers=16,
                                           depthwise_conv_kernel_size=31).conformer_layers

        def forward(self, features):
            x = self.projection(features).transpose(0, 1)
            for layer in self.layers:
                x = layer(x, None)
            return x.transpose(0, 1)

    return Recipe(Encoder(), [Input("features", DTYPES[options.dtype], ["batch", 400, 80])])


def conv_tasnet(_, options):
    """Separates two voices in two seconds of 16 kHz."""
    model = need("torchaudio.models").conv_tasnet_base()
    return Recipe(model, [Input("mixture", DTYPES[options.dtype], ["batch", 1, 2 * SECOND])])


RECIPES = {"whisper-small": whisper, "wav2vec2-base": wav2vec2, "conformer-s-encoder": conformer,
           "conv-tasnet": conv_tasnet}
