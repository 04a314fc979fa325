"""The interface of HPGO, the planner of DAPPLE, over rehearse's own planner of that objective.

A script for HPGO runs after its import has become ``import rehearse.hpgo as HPGO``::

    import rehearse.hpgo as HPGO

    conductor = HPGO.conductor_from_torch_graph_and_seps("graph.txt", 1, 128, [8, 16])
    print(conductor.py_orchestrate())

The answers are HPGO's: docs/dapple.md says how they are compared, and what is wrong with the objective. Two things differ.
A number that a script sets on ``conductor.m`` counts (HPGO handed out a copy), and the same input gives the same answer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any, Union

import rehearse

Path = Union[str, "os.PathLike[str]"]

# HPGO has these numbers compiled in: bytes per second, and bytes of a device.
ETHERNET_P2P = 1e9
ETHERNET_NCCL = 3e9
NVLINK_P2P = 25e9
GPU_MEMORY = 16e9

__all__ = [
    "Conductor",
    "Devices",
    "Model",
    "conductor_from_torch_graph_and_seps",
    "devices_from_seps",
    "model_from_torch_graph",
]


class Devices:
    """Machines of devices: ``seps`` has, for each machine, the number of the first device that is no longer its."""

    def __init__(self, seps: Sequence[int]) -> None:
        self.seps = [int(sep) for sep in seps]
        if not self.seps or any(b <= a for a, b in zip([0, *self.seps], self.seps)):
            raise ValueError(f"seps: expected increasing numbers above 0, found {list(seps)}")

    @property
    def machines(self) -> list[int]:
        """The number of devices of each machine."""
        return [b - a for a, b in zip([0, *self.seps], self.seps)]

    def __len__(self) -> int:
        return self.seps[-1]

    def write(self, path: Path) -> None:
        """Writes the machines as rehearse plans on them."""
        with open(path, "w", encoding="utf-8") as out:
            out.write("format: rehearse-dapple/1\n")
            out.write(f"machines: {self.machines}\n")
            out.write(f"inside: {NVLINK_P2P:.0f} B/s\n")
            out.write(f"point_to_point: {ETHERNET_P2P:.0f} B/s\n")
            out.write(f"collective: {ETHERNET_NCCL:.0f} B/s\n")
            out.write(f"memory: {GPU_MEMORY:.0f} B\n")


class Model:
    """A graph of operations, measured with profile_batch_size samples and trained with global_batch_size."""

    def __init__(self, file: Path, profile_batch_size: int, global_batch_size: int) -> None:
        self.file = os.fspath(file)
        self.profile_batch_size = profile_batch_size
        self.global_batch_size = global_batch_size
        self.min_micro_batch_size = 1
        self.optimizer_memory_scaling = 1
        self.peak_activation_per_batch = 0.0


class Conductor:
    """Plans a model ``m`` on devices ``d``; ``res`` is the plan as rehearse has it, once there is one."""

    def __init__(self, model: Model, devices: Devices) -> None:
        self.m = model
        self.d = devices
        self.res: Union[rehearse.Plan, None] = None

    def py_orchestrate(self) -> tuple[float, list[tuple[int, int, int, list[int]]]]:
        """The speedup over one device, and the stages: first layer, first layer of the next stage (in the last stage its
        last layer), devices per replica, and the devices."""
        with tempfile.TemporaryDirectory() as folder:
            cluster = os.path.join(folder, "machines.yaml")
            self.d.write(cluster)
            self.res = rehearse.plan(
                profile=self.m.file,
                cluster=cluster,
                objective="dapple",
                search="hpgo",
                rules="dapple",
                global_batch=self.m.global_batch_size,
                microbatch_size=self.m.min_micro_batch_size,
                profile_batch=self.m.profile_batch_size,
                state_factor=self.m.optimizer_memory_scaling,
                sample_memory=self.m.peak_activation_per_batch or None,
            )
        document = self.res.to_dict()
        return document["figures"]["speedup"], self._stages(document["pipelines"][0])

    def _stages(self, pipeline: dict[str, Any]) -> list[tuple[int, int, int, list[int]]]:
        starts = [0, *self.d.seps]
        stages = []
        for stage in pipeline["stages"]:
            devices = [
                starts[node] + place
                for group in stage["devices"]
                for node in range(group["node"], group["node"] + group["nodes"])
                for place in range(group["first"], group["first"] + group["count"])
            ]
            first, last = stage["layers"]
            stages.append((first, last + 1, len(devices) // pipeline["copies"], sorted(devices)))
        first, end, units, devices = stages[-1]
        stages[-1] = (first, end - 1, units, devices)
        return stages


def model_from_torch_graph(file: Path, profile_batch_size: int, global_batch_size: int) -> Model:
    """A model of a graph of operations (graph.txt of PipeDream and its kin)."""
    return Model(file, profile_batch_size, global_batch_size)


def devices_from_seps(seps: Sequence[int]) -> Devices:
    """Machines: [8, 16] is two of eight devices, [1, 2, 3] three of one."""
    return Devices(seps)


def conductor_from_torch_graph_and_seps(
    profile_filename: Path, profile_batch_size: int, global_batch_size: int, dev_seps: Sequence[int]
) -> Conductor:
    """A conductor of this model on these machines."""
    return Conductor(
        model_from_torch_graph(profile_filename, profile_batch_size, global_batch_size), devices_from_seps(dev_seps)
    )
