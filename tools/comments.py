#!/usr/bin/env python3
"""Counts the comments that are hard to read, per first folder of the tree.

  tools/comments.py [FOLDER ...]          prints a table; without a FOLDER, of the whole tree
  tools/comments.py --list [FOLDER ...]   prints each of those comments, too, as FILE:LINE: WHY: TEXT

A comment is a block of comment lines with at least four words. An `opener` begins with a word such as "What"
or "Of"; the first sentence of a `verbless` one has no finite verb. The second count is an estimate: a verb is
a word in a list of common forms, or a word in -s or -ed behind a word that may be a noun. Comments behind
code, and comments of one line above an indented declaration, need no verb below 12 words. Docstrings and the
parsed headers of analyses are not read. The exit code is 0 if all files could be read.
"""

import os
import re
import subprocess
import sys
from collections import Counter

ENDINGS = {"slash": (".c", ".cc", ".cu", ".cuh", ".h", ".hpp", ".svelte", ".ts"),
           "hash": (".cmake", ".py", ".sh", "CMakeLists.txt"), "dash": ".sql"}
WORDS_MIN, BRIEF_WORDS_MAX = 4, 11
COLUMNS = ("comments", "opener", "verbless")
OPENERS = set("how of what whatever who whoever whom whomever whose".split())
# The literals come first, so that a comment's mark inside of one is none.
LITERALS = r'"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\''
MARKS = r"(?m)^[ \t]*(?:/\*+|///?|\*+(?!/)|#|--|<!--)|\*/|-->"
PATTERNS = {
    "slash": r'R"(?P<d>\w*(?:-\w+)*)\((?:.|\n)*?\)(?P=d)"|' + LITERALS +
             r"|`(?:\\.|[^`\\])*`|(?P<text>(?<!:)//[^\n]*|/\*(?:.|\n)*?\*/|<!--(?:.|\n)*?-->)",
    "hash": r'"""(?:.|\n)*?"""|' + LITERALS + r"|(?P<text>(?<!\S)#[^\n]*)",
    "dash": r"'(?:''|[^'])*'|(?P<text>--[^\n]*)",
}
VERBS = set("""is are was were am has have had does do did can cannot may might must shall will would should
    could let see note gives goes took came found held kept left lost made read said set""".split())
PLAIN = set("""apply become begin belong call come cost count depend end fail follow get give go hold keep
    know last leave lie look lose make match mean move need pass put remain run say send share stand start
    stay stop take tell turn use wait want work write""".split())
NO_NOUN = set("""a an the this that these those of to in on at by for from with without as and or nor but no
    not than its their each every all any some per into onto over under between own other only two three both
    same such""".split())
NO_VERB = "always across as besides this its thus less unless yes bytes bits seconds names times used".split()


def kind_of(path):
    return next((kind for kind, ends in ENDINGS.items() if path.endswith(ends)), None)


def blocks_of(path, text):
    """Yields (line, text, whether it stands behind code, its lines, the line of code after it)."""
    lines, blocks = text.splitlines(), []
    for match in filter(lambda m: m.group("text"), re.finditer(PATTERNS[kind_of(path)], text)):
        begin = text.rfind("\n", 0, match.start()) + 1
        line, column = text.count("\n", 0, begin), match.start() - begin
        count, words = match.group("text").count("\n") + 1, re.sub(MARKS, "", match.group("text"))
        behind = bool(text[begin:match.start()].strip())
        if blocks and not behind and blocks[-1][2] == line and blocks[-1][4] == column:
            blocks[-1][1] += "\n" + words
            blocks[-1][2] += count
        else:
            blocks.append([line, words, line + count, behind, column])
    for line, words, end, behind, _ in blocks:
        if (line or not path.startswith("analyses/")) and not re.match(r"\s*[@!]", words):
            yield line + 1, words, behind, end - line, lines[end] if end < len(lines) else ""


def has_verb(sentence):
    words = re.findall(r"[A-Za-z_][\w'.]*|[,;:()]", sentence)
    for i, word in enumerate(words):
        lower, before = word.lower().strip("."), words[i - 1] if i else ""
        if lower in VERBS:
            return True
        if lower in NO_VERB or not re.fullmatch(r"[a-z]+", lower) or lower.endswith(("ss", "us")):
            continue
        if i == 0 or before == ":":  # "Returns the ...", but not "Names of ..."
            after = words[i + 1].lower() if i + 1 < len(words) else "of"
            if lower in PLAIN or lower.endswith("s") and after not in "of and , that which :".split():
                return True
        elif before.lower() not in NO_NOUN and (lower in PLAIN or re.search(r"s$|[^e]ed$", lower)):
            return True
    return False


def fault_of(words, behind, count, after):
    every = re.findall(r"[A-Za-z][\w'-]*", words)
    if len(every) < WORDS_MIN:
        return None
    if every[0].lower() in OPENERS:
        return "opener"
    is_member = count == 1 and re.match(r"\s+\S.*[;,{]", after)
    if (behind or is_member) and len(every) <= BRIEF_WORDS_MAX:
        return None
    return None if has_verb(re.split(r"(?<=[.!?;])\s", words.strip())[0]) else "verbless"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    folders = [argument.rstrip("/") for argument in sys.argv[1:] if argument != "--list"]
    listed = subprocess.run(["git", "ls-files", "--", *folders], check=True, capture_output=True, text=True)
    counts = Counter()
    for path in filter(kind_of, listed.stdout.splitlines()):
        folder = next((f for f in folders if path.startswith(f + "/")), path.split("/")[0])
        with open(path, encoding="utf-8") as file:
            blocks = list(blocks_of(path, file.read()))
        for line, words, behind, count, after in blocks:
            fault = fault_of(words, behind, count, after)
            counts[folder, "comments"] += len(re.findall(r"[A-Za-z][\w'-]*", words)) >= WORDS_MIN
            counts[folder, fault] += 1
            if fault and "--list" in sys.argv:
                print(f"{path}:{line}: {fault}: {' '.join(words.split())[:90]}")
    for which in COLUMNS:
        counts["total", which] = sum(n for (_, w), n in counts.items() if w == which)
    print(f"{'folder':<24}" + "".join(f"{which:>10}" for which in COLUMNS))
    for folder in sorted({folder for folder, _ in counts}, key=lambda f: (f == "total", f)):
        print(f"{folder:<24}" + "".join(f"{counts[folder, which]:>10}" for which in COLUMNS))


if __name__ == "__main__":
    main()
