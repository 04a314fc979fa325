"""What the scripts that read data files as other programs do have in common: those programs, and the sums of TFRecord."""

import os
import sys

SYSTEM = "/usr/bin/python3"


def need(*modules):
    """Imports modules, with the system's Python where the first in the path lacks one; exits with 77 where none has them."""
    try:
        return [__import__(module, fromlist=["_"]) for module in modules]
    except ImportError as error:
        if sys.executable != SYSTEM and os.path.exists(SYSTEM):
            os.execv(SYSTEM, [SYSTEM, *sys.argv])
        print(error)
        sys.exit(77)


OF_FORMAT = {"hdf5": ["numpy", "h5py"], "png": ["numpy", "PIL.Image"], "jpeg": ["numpy", "PIL.Image"], "pandas": ["numpy", "pandas"]}


def need_for(format):
    """numpy, and the module that reads this format, None where numpy does."""
    return [*need(*OF_FORMAT.get(format, ["numpy"])), None][:2]


CASTAGNOLI = []
for b in range(256):
    for _ in range(8):
        b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
    CASTAGNOLI.append(b)


def masked_sum(data):
    s = 0xFFFFFFFF
    for byte in data:
        s = s >> 8 ^ CASTAGNOLI[(s ^ byte) & 0xFF]
    s ^= 0xFFFFFFFF
    return ((s >> 15 | s << 17) + 0xA282EAD8) & 0xFFFFFFFF
