"""Models of images: those of timm, and transformers' encoders, detectors, segmenters, and enlargers."""

from .recipe import DTYPES, Failure, Input, Recipe, calling, image, need, tokens


def timm_model(name, options):
    timm = need("timm")
    try:
        module = timm.create_model(name, pretrained=False, exportable=True)
    except RuntimeError as error:
        raise Failure(f"timm/{name}: {error}: see timm.list_models()") from error
    size = module.pretrained_cfg.get("input_size", (3, 224, 224))
    return Recipe(module, [Input("input", DTYPES[options.dtype], ["batch", *size])])


# The model's class in transformers, those sizes of its configuration that are not the default, the parts of
# the result, and the height and the width of the image.
MODELS = {
    "segformer-b0": ("Segformer", "ForSemanticSegmentation", {"num_labels": 150}, ["logits"], 512, 512),
    "dpt-large": ("DPT", "ForDepthEstimation", {
        "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
        "backbone_out_indices": [5, 11, 17, 23], "neck_hidden_sizes": [256, 512, 1024, 1024]},
        ["predicted_depth"], 384, 384),
    "sam-vit-b-encoder": ("SamVision", "Model", {}, ["last_hidden_state"], 1024, 1024),
    "swin2sr-x2": ("Swin2SR", "ForImageSuperResolution", {}, ["reconstruction"], 64, 64),
    "dinov2-base": ("Dinov2", "Model", {
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 518,
        "patch_size": 14}, ["last_hidden_state"], 224, 224),
    "yolos-tiny": ("Yolos", "ForObjectDetection", {
        "hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768, "image_size": [800, 1333],
        "num_labels": 91, "use_mid_position_embeddings": False}, ["logits", "pred_boxes"], 800, 1333),
}


def transformers_image_model(name, options):
    transformers = need("transformers")
    family, task, sizes, parts, height, width = MODELS[name]
    config = getattr(transformers, family + "Config")(
        attn_implementation=options.attention, **sizes)
    model = getattr(transformers, family + task)(config)
    module = calling(model, ["pixel_values"], parts, return_dict=True)
    return Recipe(module, [image(options, height, width)])


def mask2former(_, options):
    transformers = need("transformers")
    backbone = transformers.SwinConfig(
        embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24], window_size=7, drop_path_rate=0.3,
        out_features=["stage1", "stage2", "stage3", "stage4"])
    config = transformers.Mask2FormerConfig(backbone_config=backbone, num_labels=80, num_queries=100)
    model = transformers.Mask2FormerForUniversalSegmentation(config)
    parts = ["class_queries_logits", "masks_queries_logits"]
    return Recipe(calling(model, ["pixel_values"], parts, return_dict=True), [image(options, 384)])


def clip(_, options):
    transformers = need("transformers")
    config = transformers.CLIPConfig(attn_implementation=options.attention)
    module = calling(transformers.CLIPModel(config), ["input_ids", "pixel_values"],
                     ["text_embeds", "image_embeds"], return_dict=True)
    text = config.text_config
    return Recipe(module, [tokens("input_ids", options, text.vocab_size, text.max_position_embeddings),
                           Input("pixel_values", DTYPES[options.dtype], ["batch", 3, 224, 224])])


def diffusion_unet(_, options):
    """Removes noise from a picture of 512 x 512 pixels, once: Stable Diffusion 1.5 does it for each step."""
    diffusers = need("diffusers")
    dtype = DTYPES[options.dtype]
    model = diffusers.UNet2DConditionModel(sample_size=64, cross_attention_dim=768)
    names = ["sample", "timestep", "encoder_hidden_states"]
    module = calling(model, names, ["sample"], return_dict=True)
    return Recipe(module, [Input("sample", dtype, ["batch", 4, 64, 64]),
                           Input("timestep", "int64", [1], 1000),
                           Input("encoder_hidden_states", dtype, ["batch", 77, 768])])


def bn_inception(_, options):
    from networks import bn_inception as network
    return Recipe(network.BnInception(), [image(options)])


def mobilenet_v1(name, options):
    from networks import mobilenet_v1 as network
    width, size = name.split("-")[-2:]
    return Recipe(network.MobileNetV1(float(width)), [image(options, int(size))])


def srgan_generator(_, options):
    from networks import srgan
    return Recipe(srgan.Generator(), [image(options, 96)])


RECIPES = {
    **dict.fromkeys(MODELS, transformers_image_model),
    "mask2former-swin-tiny": mask2former,
    "clip-vit-b-32": clip,
    "stable-diffusion-unet": diffusion_unet,
    "bn-inception": bn_inception,
    "srgan-generator": srgan_generator,
    **{f"mobilenet-v1-{width}-{size}": mobilenet_v1
       for size in (224, 192, 160, 128) for width in ("1.0", "0.75", "0.5", "0.25")},
}
PACKAGES = {"timm": timm_model}
