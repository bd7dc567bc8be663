"""The API's OpenAPI document, and whether an answer is one that it describes."""

import json
import re
import urllib.parse

import jsonschema

METHODS = ("get", "post", "delete")


class Document:
    """`text` is the answer of /api/v1/openapi.json. Fails if it is no document that this class can use."""

    def __init__(self, text):
        self.whole = json.loads(text)
        assert self.whole["openapi"] == "3.1.0", self.whole["openapi"]
        self.prefix = self.whole["servers"][0]["url"]
        self.operations = []  # (method, pattern of its paths, name, operation)
        for path, methods in self.whole["paths"].items():
            # Only the analyses' parameter is no part of the path; a part has no slash.
            pattern = re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(self.prefix + path)))
            named = set(re.findall(r"\{([^}]*)\}", path))
            for method, operation in methods.items():
                assert method in METHODS, method
                self.operations.append((method, pattern, f"{method.upper()} {path}", operation))
                told = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
                assert told == named, f"{path}: its parts are {named}, the document tells {told}"
                for response in operation["responses"].values():
                    for content in response["content"].values():
                        jsonschema.Draft202012Validator.check_schema(content["schema"])

    def find(self, method, target):
        """Returns the name and the description of the operation that answers this, or (None, None)."""
        path = urllib.parse.urlsplit(target).path
        method = "get" if method == "HEAD" else method.lower()
        for one, pattern, name, operation in self.operations:
            if one == method and pattern.fullmatch(path):
                return name, operation
        return None, None

    def fault(self, method, target, status, body):
        """Returns what is wrong with an answer, or None."""
        _, operation = self.find(method, target)
        error = self.whole["components"]["schemas"]["Error"]
        schema = error
        if operation and str(status) in operation["responses"]:
            schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
        elif status < 400 and status != 304:
            return f"{method} {target}: status {status} is not in the document"
        if status == 304 or method == "HEAD":
            return f"{method} {target}: a body" if body else None
        try:
            jsonschema.Draft202012Validator(schema).validate(json.loads(body))
        except ValueError as problem:
            return f"{method} {target}: {status}: not JSON: {problem}: {body[:200]!r}"
        except jsonschema.ValidationError as problem:
            return f"{method} {target}: {status}: {'/'.join(map(str, problem.path))}: {problem.message[:300]}"
        return None
