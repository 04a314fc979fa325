#!/usr/bin/env python3
"""Writes logs of steps of a made-up training run, for pictures and for trying: make_steps.py FOLDER unet3d|dlrm

Always the same ones. Compute times are normal around a plane over GPUs and batch, which `rehearse figure steps --kind fit` has to
find again; waiting is exponential, and longer in the first epoch.
"""
import os
import random
import sys

PARTS = {
    "load_batch_gpu": 0.03,
    "model_forward_pass": 0.30,
    "loss_tensor_calc": 0.04,
    "model_backward_pass": 0.52,
    "model_optim_step": 0.05,
    "cum_loss_fn_calc": 0.05,
}


def line(key, seconds):
    nanoseconds = max(int(seconds * 1e9), 1000)
    return (f':::MLLOG {{"time_ms": 0, "key": "{key}", "value": {{"start": 0, "duration": {nanoseconds}}}, '
            f'"metadata": {{}}}}\n')


def unet3d(folder, draw):
    for gpus in (1, 2, 4, 8):
        for batch in (1, 2, 3, 4, 5):
            for repeat in (1, 2):
                where = f"{folder}/UNET3D_{gpus}g_{batch}b_{repeat}"
                os.makedirs(where, exist_ok=True)
                with open(f"{where}/unet3d.log", "w", encoding="ascii") as log:
                    for epoch in range(1, 9):
                        log.write(f':::MLLOG {{"key": "epoch_start", "value": null, "metadata": {{"epoch_num": {epoch}}}}}\n')
                        for _ in range(168 // (gpus * batch) + 1):
                            unet3d_step(log, draw, gpus, batch, epoch)


def unet3d_step(log, draw, gpus, batch, epoch):
    wait = draw.expovariate(1 / (0.002 + 0.008 * gpus)) + (0.3 if epoch == 1 else 0)
    compute = draw.gauss(0.3 + 0.25 * batch + 0.002 * gpus, 0.004 * gpus + 0.007 * batch)
    for _ in range(batch):
        log.write(line("sample_load", draw.lognormvariate(-3.5, 0.4)))
        log.write(line("sample_preproc", draw.gauss(0.05, 0.005)))
    log.write(line("load_batch_mem", wait))
    for key, share in PARTS.items():
        log.write(line(key, compute * share * draw.gauss(1, 0.02)))
    log.write(line("all_compute", compute))
    log.write(line("step_end", wait + compute + 0.002))


def dlrm(folder, draw):
    for gpus in (1, 2, 4, 8):
        for exponent in range(11, 24 if gpus > 1 else 18):
            batch = 2**exponent
            where = f"{folder}/DLRM_{gpus}g_{batch}b"
            os.makedirs(where, exist_ok=True)
            with open(f"{where}/dlrm_tera.log", "w", encoding="ascii") as log:
                log.write(':::MLLOG {"key": "training_start", "value": null}\n')
                for _ in range(200):
                    wait = draw.expovariate(1 / (batch * 2e-7))
                    compute = draw.gauss(0.006 * gpus + 1.5e-6 * batch, 3e-4 * gpus + 6e-8 * batch)
                    log.write(line("batch_load", batch * 1e-7 * draw.lognormvariate(0, 0.3)))
                    log.write(line("batch_preproc", batch * 3e-8))
                    log.write(line("load_batch_mem", wait))
                    log.write(line("all_compute", compute))
                    log.write(line("step_end", wait + compute + 0.002))


{"unet3d": unet3d, "dlrm": dlrm}[sys.argv[2]](sys.argv[1], random.Random(7))
