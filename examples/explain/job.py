"""Two ranks train a small transformer on processors, over gloo, from files of tokens, and record each step.

scripts/explain-real-job runs it. --measure prints the speed of this machine, of which that makes a device of `rehearse plan`.
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

WIDTH, HEADS, LAYERS, TOKENS, WORDS = 128, 4, 2, 64, 2048


class Shards(Dataset):
    """A sample is a slice of one of many files: read with the whole file, out of no cache, or alone, if `slices`."""

    def __init__(self, folder, samples, slices):
        self.files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        self.samples = samples
        self.slices = slices

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        with open(self.files[index % len(self.files)], "rb", buffering=0) as file:
            if not self.slices:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            data = file.read(2 * (TOKENS + 1)) if self.slices else file.readall()[: 2 * (TOKENS + 1)]
        tokens = torch.frombuffer(bytearray(data), dtype=torch.int16).long() % WORDS
        return tokens[:-1], tokens[1:]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0, batch_first=True, norm_first=True)
            for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def seconds_of(call, count=30):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure(rank):
    """Rates of products and of memory on one thread."""
    a, b, big = torch.randn(512, 512), torch.randn(512, 512), torch.zeros(1 << 22)
    rates = [2 * 512**3 / seconds_of(lambda: a @ b), 8 * big.numel() / seconds_of(lambda: big.add_(1))]
    if rank == 0:
        print(*rates)


def train(given):
    torch.manual_seed(0)
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.AdamW(model.parameters())
    loss_of = nn.CrossEntropyLoss()
    batches = DataLoader(Shards(given.data, 10000, given.slices), given.batch, num_workers=given.workers)
    warm = 3
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=warm, active=given.steps, repeat=1),
                 on_trace_ready=lambda done: done.export_chrome_trace(f"{given.out}/rank{given.rank}.json")) as profiler:
        for number, (tokens, wanted) in enumerate(batches):
            loss = loss_of(model(tokens).flatten(0, 1), wanted.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            profiler.step()
            if number + 1 == warm + given.steps:
                break


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rank", type=int, required=True)
    options.add_argument("--store", required=True)
    options.add_argument("--data")
    options.add_argument("--out")
    options.add_argument("--measure", action="store_true")
    options.add_argument("--slices", action="store_true")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--steps", type=int, default=8)
    options.add_argument("--batch", type=int, default=8)
    given = options.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{given.store}", rank=given.rank, world_size=2)
    measure(given.rank) if given.measure else train(given)
    dist.destroy_process_group()


main()
