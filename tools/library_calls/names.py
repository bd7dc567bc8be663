"""The names of parameters and values in a span's attributes."""

import os
import re

ALIASES = {"trans_a": "transa", "trans_b": "transb", "atype": "a_type", "btype": "b_type", "ctype": "c_type",
           "datatype": "dtype", "batchcount": "batch_count"}
# Element types by the letter in a function's name, as in BLAS.
LETTERS = {"S": "float32", "D": "float64", "C": "complex64", "Z": "complex128", "H": "float16"}
TYPE_WORDS = {"float": "float32", "double": "float64", "half": "float16", "f32": "float32", "f64": "float64",
              "f16": "float16", "bf16": "bfloat16", "s32": "int32", "s8": "int8", "u8": "uint8"}
LETTER_TYPES = {"F": "float", "BF": "bfloat", "I": "int", "U": "uint"}


def key_of(name):
    key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    key = re.sub(r"_?desc(riptor)?$", "", key)
    return ALIASES.get(key, key)


def type_word(text):
    """Returns an element type's enumerator in xsp's words: R_16BF is bfloat16."""
    match = re.fullmatch(r"([RC])_(\d+)(F|BF|I|U)((?:_\w+)?)", text)
    if match:
        form, bits, letter, rest = match.groups()
        number = LETTER_TYPES[letter] + bits + rest.lower()
        return number if form == "R" else f"complex{2 * int(bits)}" if letter == "F" else "complex_" + number
    word = text.lower()
    return TYPE_WORDS.get(word, word)


def enumerators(declaration):
    """Returns the (value, name) pairs of an enumeration, without the common part of its names; a value's
    first name holds.
    """
    members = [(m.enum_value, m.spelling) for m in declaration.get_children()
               if m.kind.name == "ENUM_CONSTANT_DECL"]
    members = [m for m in members if not re.search(r"_MAX$|_COUNT$|ForceWidth|NumTypes|NumOps", m[1])]
    common = os.path.commonprefix([name for _, name in members]) if len(members) > 1 else ""
    if "_" in common:
        common = common[:common.rindex("_") + 1]
    else:
        while common and not all(name[len(common):len(common) + 1].isupper() for _, name in members):
            common = common[:-1]
    is_type = re.search(r"data_?type", declaration.spelling or "", re.I)
    seen = {}
    for value, name in members:
        short = name[len(common):]
        seen.setdefault(value, type_word(short) if is_type else short)
    return sorted(seen.items())


def element_type(f):
    """Returns the element type of a BLAS function, by its letter."""
    match = re.match(r"(?:cublas|cblas_)([SDCZHsdczh])(?![a-z]*Matmul)[a-z]", f.name)
    return LETTERS[match.group(1).upper()] if match and "Lt" not in f.name else ""
