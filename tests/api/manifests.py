#!/usr/bin/env python3
"""Lets a JSON Schema validator and `xsp models check` judge the same manifests: the shipped schema must say
what the parser says, also of families.

  tests/api/manifests.py --xsp BIN/xsp
"""

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# xsp also checks that the steps fit the model.
STEPS = ["decode", {"resize_pillow": {"short": 256, "filter": "bilinear"}},
         {"crop": {"width": 224, "height": 224}},
         {"normalise": {"scale": 255, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}},
         {"layout": {"to": "NCHW"}}]
OWN = {"name": "small", "version": "1.0.0", "task": "classification", "model": {"zoo": "resnet50"},
       "inputs": [{"name": "input", "dtype": "float32", "layout": "NCHW", "dimensions": ["N", 3, 224, 224],
                   "from": "image", "steps": STEPS}]}
SHARED = {"version": "1.0.0", "task": "classification", "framework": {"name": "torch"}}
MEMBERS = [{"name": "small", "model": {"zoo": "resnet50"}, "size": {"parameters": 10}},
           {"name": "large", "version": "2.0.0", "model": {"export": "torchvision/large"}}]


def without(fields, *keys):
    return {key: value for key, value in fields.items() if key not in keys}


def family(shared, members):
    return {**shared, "models": copy.deepcopy(members)}


# The manifests, and whether they are valid.
CASES = [
    (OWN, True),
    ({**OWN, "colour": "red"}, False),
    *((without(OWN, key), key == "inputs") for key in OWN),
    (family(SHARED, MEMBERS), True),
    (family(SHARED, MEMBERS[:1]), True),
    (family(SHARED, []), False),
    (family(SHARED, [{**MEMBERS[0], "name": f"n{number}"} for number in range(200)]), True),
    (family(SHARED, [{**MEMBERS[0], "name": f"n{number}"} for number in range(201)]), False),
    (family(SHARED, [without(MEMBERS[0], "name")]), False),
    (family(SHARED, ["small"]), False),
    ({**SHARED, "models": {"name": "small"}}, False),
    (family(SHARED, [{**MEMBERS[0], "colour": "red"}]), False),
    (family({**SHARED, "colour": "red"}, MEMBERS), False),
    (family(SHARED, [{**MEMBERS[0], "models": MEMBERS}]), False),
    (family(SHARED, [{**MEMBERS[0], "size": {"parameters": 0}}]), False),
    (family(SHARED, [without(MEMBERS[0], "model")]), False),
    (family({**SHARED, "model": {"zoo": "resnet50"}}, [without(MEMBERS[0], "model")]), True),
    (family(without(SHARED, "task"), MEMBERS), False),
    (family(without(SHARED, "version"), MEMBERS), False),
    (family(without(SHARED, "version"), MEMBERS[1:]), True),
    (family(without(SHARED, "task"), [{**one, "task": "detection"} for one in MEMBERS]), True),
]


def shipped():
    """Returns the manifests that are shipped; none without a reader of YAML."""
    try:
        import yaml
    except ImportError:
        return []
    found = []
    for folder, _, names in os.walk(os.path.join(ROOT, "manifests")):
        for name in sorted(names):
            if name.endswith(".yaml"):
                with open(os.path.join(folder, name)) as file:
                    found.append(yaml.safe_load(file))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--xsp", required=True)
    options = parser.parse_args()
    with open(os.path.join(ROOT, "manifests/schema.json")) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for manifest, is_valid in CASES + [(one, True) for one in shipped()]:
            file = os.path.join(folder, "manifest.yaml")
            with open(file, "w") as out:
                json.dump(manifest, out)  # JSON is YAML
            checked = subprocess.run([options.xsp, "models", "check", file], capture_output=True, text=True)
            verdicts = {"the schema": validator.is_valid(manifest), "xsp": checked.returncode == 0}
            for who, verdict in verdicts.items():
                if verdict != is_valid:
                    problems.append(f"{who} takes it to be {'valid' if verdict else 'invalid'}: "
                                    f"{json.dumps(manifest)[:300]} {checked.stdout[:300]}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
