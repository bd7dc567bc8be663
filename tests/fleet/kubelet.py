#!/usr/bin/env python3
"""Stands in for the kubelet of a node: runs the command of each pod that is bound to it as a process here.

  kubelet.py NODE

It talks to the API server through kubectl, and registers the node as ready, with 2 processors and no GPU.
"""
import datetime
import json
import os
import subprocess
import sys
import time


def kubectl(*words):
    return subprocess.run(["kubectl", *words], capture_output=True, text=True).stdout


def patch(kind, name, status):
    text = json.dumps({"status": status})
    kubectl("patch", kind, name, "--subresource=status", "--type=merge", "--patch", text)


def register(node):
    size = {"cpu": "2", "memory": "8Gi", "pods": "10"}
    ready = {"type": "Ready", "status": "True", "reason": "StandIn", "message": "It is a stand-in.",
             "lastHeartbeatTime": now(), "lastTransitionTime": now()}
    patch("node", node, {"capacity": size, "allocatable": size, "conditions": [ready]})
    kubectl("taint", "nodes", node, "node.kubernetes.io/not-ready:NoSchedule-")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def start(pod):
    container = pod["spec"]["containers"][0]
    environment = dict(os.environ)
    for entry in container.get("env", []):
        source = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        value = entry.get("value", "")
        for part in ("annotations", "labels"):
            if source.startswith(f"metadata.{part}['"):
                value = pod["metadata"][part][source.split("'")[1]]
        environment[entry["name"]] = value
    return subprocess.Popen(container["command"], env=environment, start_new_session=True)


def end(name, process):
    process.poll() is None and os.killpg(process.pid, 9)
    process.wait()
    kubectl("delete", "pod", name, "--force", "--grace-period=0", "--wait=false")


def main():
    node, running, ended = sys.argv[1], {}, set()
    register(node)
    while True:
        listed = kubectl("get", "pods", f"--field-selector=spec.nodeName={node}", "--output=json")
        for pod in json.loads(listed or '{"items": []}')["items"]:
            name = pod["metadata"]["name"]
            if name not in running and name not in ended:
                running[name] = start(pod)
                patch("pod", name, {"phase": "Running", "startTime": now()})
            if name in running and "deletionTimestamp" in pod["metadata"]:
                end(name, running.pop(name))
                ended.add(name)
        for name, process in list(running.items()):
            if process.poll() is not None:
                patch("pod", name, {"phase": "Succeeded" if process.returncode == 0 else "Failed"})
                ended.add(name)
                del running[name]
        time.sleep(0.3)


if __name__ == "__main__":
    main()
