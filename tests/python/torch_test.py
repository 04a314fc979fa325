"""Modules of PyTorch as StableHLO: the sizes of their products, as PyTorch itself counts them."""

import os
import tempfile
import unittest

import rehearse

try:
    import torch
    import torch.export
    from torch.utils.flop_counter import FlopCounterMode
except ImportError:
    torch = None


def attention():
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(1000, 64)
            self.norm = torch.nn.LayerNorm(64)
            self.project = torch.nn.Linear(64, 192)

        def forward(self, words):
            query, key, value = self.project(self.norm(self.words(words))).split(64, -1)
            weights = torch.softmax(query @ key.transpose(1, 2) / 8, -1)
            return torch.nn.functional.gelu(weights @ value)[:, -1]

    return Attention(), torch.zeros(4, 16, dtype=torch.long)


def layers():
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)), torch.zeros(32, 64)


def images():
    convolution = torch.nn.Conv2d(3, 16, 3, padding=1, stride=2)
    return torch.nn.Sequential(convolution, torch.nn.SiLU(), torch.nn.Flatten(), torch.nn.Linear(4096, 10)), torch.zeros(4, 3, 32, 32)


@unittest.skipIf(torch is None, "no PyTorch with torch.export here")
class FromTorch(unittest.TestCase):
    def flops(self, module, inputs):
        """Of the module by rehearse, and of its products alone by PyTorch."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "module.mlir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(rehearse.from_torch(module, (inputs,)))
            counted = rehearse.cost(path).to_dict()
        with FlopCounterMode(display=False) as counter:
            module(inputs)
        return self.find(counted, "flops"), counter.get_total_flops()

    def find(self, document, name):
        """The first value of that name in a document."""
        if isinstance(document, dict):
            if name in document:
                return document[name]
            document = list(document.values())
        for part in document if isinstance(document, list) else []:
            found = self.find(part, name)
            if found is not None:
                return found
        return None

    def test_products_are_those_that_pytorch_counts(self):
        for make in (layers, images, attention):
            with self.subTest(make.__name__):
                ours, products = self.flops(*make())
                self.assertGreaterEqual(ours, products * 0.85)  # PyTorch counts the padding of a convolution
                self.assertLess(ours, products * 1.25)  # ours has the operations of one element, too

    def test_what_has_no_translation_is_named(self):
        class Sorted(torch.nn.Module):
            def forward(self, values):
                return torch.sort(values)[0]

        with self.assertRaisesRegex(NotImplementedError, "sort"):
            rehearse.from_torch(Sorted(), (torch.zeros(8),))
