"""Models of torchvision: classification, video, dense prediction, detection."""

from .recipe import DTYPES, Failure, Input, Recipe, calling, image, need

# The size of the images on which torchvision's own tables count the operations.
DENSE_SIZE = 520


def classifier(name, options):
    models = need("torchvision.models")
    # The auxiliary classifiers of the older Inceptions are for training only.
    kept = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = 299 if name == "inception_v3" else 224
    try:
        return Recipe(models.get_model(name, weights=None, **kept), [image(options, size)])
    except ValueError as error:
        raise Failure(f"torchvision/{name}: {error}: see torchvision.models.list_models()") from error


def video(name, options):
    module = getattr(need("torchvision.models.video"), name)(weights=None)
    return Recipe(module, [Input("input", DTYPES[options.dtype], ["batch", 3, 16, 112, 112])])


def segmenter(name, options):
    """Returns the classes of each pixel, and those of the auxiliary head, which the published models have."""
    has_aux = not name.startswith("lraspp")
    kept = {"aux_loss": True} if has_aux else {}
    module = need("torchvision.models").get_model(name, weights=None, weights_backbone=None, **kept)
    if not has_aux:
        return Recipe(calling(module, ["input"], ["out"]), [image(options, DENSE_SIZE)])
    return Recipe(calling(module, ["x"], ["out", "aux"]), [image(options, DENSE_SIZE)])


def freeze(model):
    """Gives the backbone the batch normalisations of the published models, which are fixed: their numbers are
    not learned, and they are a product and a sum."""
    torch = need("torch")
    frozen = need("torchvision.ops").FrozenBatchNorm2d
    for parent in list(model.backbone.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, torch.nn.BatchNorm2d):
                setattr(parent, name, frozen(child.num_features, child.eps))
    return model


def detector(name, options):
    torch = need("torch")
    detection = need("torchvision.models.detection")

    class Detector(torch.nn.Module):
        """Takes a batch as one tensor, and returns the detections of each image."""

        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, images: torch.Tensor):
            if torch.jit.is_scripting():  # then it also returns the losses of training
                found = self.model(torch.unbind(images), None)[1]
            else:
                found = self.model(torch.unbind(images), None)
            return ([image["boxes"] for image in found], [image["scores"] for image in found],
                    [image["labels"] for image in found])

    # The scores of random weights lie below the usual threshold, and the last stage would find no work.
    module = freeze(getattr(detection, name)(weights=None, weights_backbone=None, box_score_thresh=0))
    return Recipe(Detector(module), [image(options, 800)], scripted=True)


def detector_heads(name, options):
    torch = need("torch")

    class Heads(torch.nn.Module):
        """Returns the boxes and class scores of every anchor, [batch, anchor, 4 + classes]. It makes no
        choice among them, because that operator, torchvision::nms, is not part of PyTorch itself.
        """

        def __init__(self, model):
            super().__init__()
            self.backbone, self.head = model.backbone, model.head

        def forward(self, images):
            found = self.head(list(self.backbone(images).values()))
            return torch.cat([found["bbox_regression"], found["cls_logits"]], dim=-1)

    model = getattr(need("torchvision.models.detection"), name)(weights=None, weights_backbone=None)
    if name != "ssdlite320_mobilenet_v3_large":
        freeze(model)
    size = {"ssd300_vgg16": 300, "ssdlite320_mobilenet_v3_large": 320}.get(name, 800)
    return Recipe(Heads(model), [image(options, size)])


RECIPES = {
    "resnet50": classifier,
    "mobilenet_v2": classifier,
    "vit_b_16": classifier,
    "r3d_18": video,
    "deeplabv3_resnet50": segmenter,
    "deeplabv3_resnet101": segmenter,
    "deeplabv3_mobilenet_v3_large": segmenter,
    "fcn_resnet50": segmenter,
    "lraspp_mobilenet_v3_large": segmenter,
    "ssd300_vgg16": detector_heads,
    "ssdlite320_mobilenet_v3_large": detector_heads,
    "retinanet_resnet50_fpn": detector_heads,
    "fcos_resnet50_fpn": detector_heads,
    "fasterrcnn_resnet50_fpn": detector,
    "fasterrcnn_mobilenet_v3_large_fpn": detector,
    "maskrcnn_resnet50_fpn": detector,
    "keypointrcnn_resnet50_fpn": detector,
}
PACKAGES = {"torchvision": classifier}
