#!/usr/bin/env python3
"""Writes a TorchScript model that computes on cuda:0 and on cuda:1: two_devices.py FILE."""
import sys

import torch


class Two(torch.nn.Module):
    def forward(self, x):
        here = torch.softmax(torch.matmul(x, x), -1)
        there = torch.relu(torch.matmul(here.to(torch.device("cuda:1")), here.to(torch.device("cuda:1"))))
        # The result returns to the first device, whose stream waits for the second's.
        return there.to(torch.device("cuda:0")) + here


torch.jit.script(Two()).save(sys.argv[1], _extra_files={"signature": "input\tx\tfloat32\tbatch,512,512\n"})
