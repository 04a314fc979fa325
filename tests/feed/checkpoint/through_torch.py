"""Checkpoints through torch and safetensors.

    through_torch.py FOLDER       loads each file there (torch.load with weights_only, and mapped), checks the sums of its archive, and
                          saves it again over itself; prints files, tensors and how many bytes differ from before, but for
                          the id that torch gives each file it saves
    through_torch.py write FILE   saves tensors of every type as the tests expect them

Without torch or safetensors it exits with 77 and says so."""

import glob
import os
import sys
import zipfile

try:
    import safetensors.torch
    import torch
except ImportError as error:
    print(error)
    sys.exit(77)

ID = '.data/serialization_id'


def save(tensors, path):
    if path.endswith('.safetensors'):
        safetensors.torch.save_file(tensors, path, metadata={'format': 'pt'})
    else:
        torch.save(tensors, path)


def load(path):
    if path.endswith('.safetensors'):
        return safetensors.torch.load_file(path)
    assert zipfile.ZipFile(path).testzip() is None
    mapped = torch.load(path, weights_only=True, mmap=True)
    tensors = torch.load(path, weights_only=True)
    assert list(mapped) == list(tensors)
    return tensors


def without_id(path):
    """The bytes, with zeros for the id and for its sums, behind it and in the directory."""
    data = bytearray(open(path, 'rb').read())
    if path.endswith('.pt'):
        at = data.index(ID.encode())
        begin = data.index(b'PK\x07\x08', at) - 40
        data[begin:begin + 48] = bytes(48)
        entry = data.rindex(ID.encode()) - len(os.path.basename(path)[:-3]) - 1 - 46
        data[entry + 16:entry + 20] = bytes(4)
    return bytes(data)


def again(folder):
    files = sorted(glob.glob(os.path.join(folder, '*.pt')) + glob.glob(os.path.join(folder, '*.safetensors')))
    tensors = different = 0
    for path in files:
        before = without_id(path)
        loaded = load(path)
        save(loaded, path)
        after = without_id(path)
        tensors += len(loaded)
        if before != after:
            different += abs(len(before) - len(after)) + sum(a != b for a, b in zip(before, after))
    print('%d files, %d tensors, %d bytes differ' % (len(files), tensors, different))


def write(path):
    types = [torch.int8, torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64]
    save({'layer.%d' % i: torch.arange(6 * (i + 1)).reshape(2, 3, i + 1).to(kind) for i, kind in enumerate(types)}, path)


if len(sys.argv) == 3:
    write(sys.argv[2])
else:
    again(sys.argv[1])
