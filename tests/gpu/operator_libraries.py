#!/usr/bin/env python3
"""Prints the libraries that bring torchvision's operators into a program without Python, in the order in
which to load them: operator_libraries.py"""
import glob
import importlib.util
import os
import sysconfig


def folder(package):
    spec = importlib.util.find_spec(package)
    return spec.submodule_search_locations[0] if spec else ""


own = glob.glob(os.path.join(folder("torchvision"), "_C*.so"))
if own:
    needed = []
    with open(own[0], "rb") as file:
        if b"libtorch_python.so" in file.read():
            names = (sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY"))
            folders = (sysconfig.get_config_var("LIBDIR"), "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
            python = [os.path.join(path, name) for path in folders for name in names if path and name]
            shared = [path for path in python if ".so" in path and os.path.exists(path)]
            needed = shared[:1]
            needed.append(os.path.join(folder("torch"), "lib", "libtorch_python.so"))
    print("\n".join(needed + own[:1]))
