"""The stages of rapidocr-onnxruntime, with the settings that the package ships."""
import pathlib

import cv2
import rapidocr_onnxruntime
import yaml
from rapidocr_onnxruntime.ch_ppocr_cls import TextClassifier
from rapidocr_onnxruntime.ch_ppocr_det import TextDetector
from rapidocr_onnxruntime.ch_ppocr_rec import TextRecognizer

HOME = pathlib.Path(rapidocr_onnxruntime.__file__).parent
STAGES = {"Det": TextDetector, "Cls": TextClassifier, "Rec": TextRecognizer}


def stage(name):
    settings = yaml.safe_load((HOME / "config.yaml").read_text())[name]
    settings["model_path"] = str(HOME / settings["model_path"])
    return STAGES[name](settings)


def image_of(path):
    """Returns the pixels in the order of OpenCV: blue, green, red."""
    return cv2.imread(str(path))
