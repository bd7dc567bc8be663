"""The recipes of models that the exporters write. Each file of this folder has families of them:

  RECIPES   a function for each name, which takes the name and the options, and returns a Recipe
  PACKAGES  the same for a package, for "PACKAGE/NAME"

A new family is a new file. Networks that no package has are in ../networks.
"""

import importlib
import pathlib

NO_FAMILY = {"__init__", "recipe"}


def collect():
    """Returns the recipes and the packages of all files, in the order of the files' names."""
    recipes, packages = {}, {}
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem not in NO_FAMILY:
            family = importlib.import_module(f"{__name__}.{path.stem}")
            recipes.update(family.RECIPES)
            packages.update(getattr(family, "PACKAGES", {}))
    return recipes, packages
