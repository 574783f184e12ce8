"""EC2 GPU instance types: what one node of each offers.

Source: EC2 DescribeInstanceTypes as recorded in moto 5.2.5 (Apache-2.0), read 2026-11-29. A type that is not
here can still be used: `stacks.spec.NodePool.gpus_per_node` says what it holds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InstanceType:
    """`memory_gib` and `gpu_memory_gib` are the hardware's; Kubernetes offers less after its own reserve.

    `enis` are the network interfaces of the first network card, which the VPC CNI gives pods addresses from;
    `ipv4_per_eni` the IPv4 addresses on each of them, its own included.
    """

    vcpus: int
    memory_gib: int
    gpu: str
    gpus: int
    gpu_memory_gib: int
    nvme_gb: int
    enis: int
    ipv4_per_eni: int


INSTANCE_TYPES: dict[str, InstanceType] = {
    "g4dn.12xlarge": InstanceType(48, 192, "T4", 4, 16, 900, 8, 30),
    "g4dn.16xlarge": InstanceType(64, 256, "T4", 1, 16, 900, 4, 15),
    "g4dn.2xlarge": InstanceType(8, 32, "T4", 1, 16, 225, 3, 10),
    "g4dn.4xlarge": InstanceType(16, 64, "T4", 1, 16, 225, 3, 10),
    "g4dn.8xlarge": InstanceType(32, 128, "T4", 1, 16, 900, 4, 15),
    "g4dn.metal": InstanceType(96, 384, "T4", 8, 16, 1800, 15, 50),
    "g4dn.xlarge": InstanceType(4, 16, "T4", 1, 16, 125, 3, 10),
    "g5.12xlarge": InstanceType(48, 192, "A10G", 4, 22, 3800, 15, 50),
    "g5.16xlarge": InstanceType(64, 256, "A10G", 1, 22, 1900, 8, 30),
    "g5.24xlarge": InstanceType(96, 384, "A10G", 4, 22, 3800, 15, 50),
    "g5.2xlarge": InstanceType(8, 32, "A10G", 1, 22, 450, 4, 15),
    "g5.48xlarge": InstanceType(192, 768, "A10G", 8, 22, 7600, 7, 50),
    "g5.4xlarge": InstanceType(16, 64, "A10G", 1, 22, 600, 8, 30),
    "g5.8xlarge": InstanceType(32, 128, "A10G", 1, 22, 900, 8, 30),
    "g5.xlarge": InstanceType(4, 16, "A10G", 1, 22, 250, 4, 15),
    "g6.12xlarge": InstanceType(48, 192, "L4", 4, 22, 3760, 8, 30),
    "g6.16xlarge": InstanceType(64, 256, "L4", 1, 22, 1880, 15, 50),
    "g6.24xlarge": InstanceType(96, 384, "L4", 4, 22, 3760, 15, 50),
    "g6.2xlarge": InstanceType(8, 32, "L4", 1, 22, 450, 4, 15),
    "g6.48xlarge": InstanceType(192, 768, "L4", 8, 22, 7520, 15, 50),
    "g6.4xlarge": InstanceType(16, 64, "L4", 1, 22, 600, 8, 30),
    "g6.8xlarge": InstanceType(32, 128, "L4", 1, 22, 900, 8, 30),
    "g6.xlarge": InstanceType(4, 16, "L4", 1, 22, 250, 4, 15),
    "g6e.12xlarge": InstanceType(48, 384, "L40S", 4, 44, 3800, 10, 30),
    "g6e.16xlarge": InstanceType(64, 512, "L40S", 1, 44, 1900, 15, 50),
    "g6e.24xlarge": InstanceType(96, 768, "L40S", 4, 44, 3800, 10, 50),
    "g6e.2xlarge": InstanceType(8, 64, "L40S", 1, 44, 450, 4, 15),
    "g6e.48xlarge": InstanceType(192, 1536, "L40S", 8, 44, 7600, 10, 50),
    "g6e.4xlarge": InstanceType(16, 128, "L40S", 1, 44, 600, 8, 30),
    "g6e.8xlarge": InstanceType(32, 256, "L40S", 1, 44, 900, 8, 30),
    "g6e.xlarge": InstanceType(4, 32, "L40S", 1, 44, 250, 4, 15),
    "gr6.4xlarge": InstanceType(16, 128, "L4", 1, 22, 600, 8, 30),
    "gr6.8xlarge": InstanceType(32, 256, "L4", 1, 22, 900, 8, 30),
    "p4d.24xlarge": InstanceType(96, 1152, "A100", 8, 40, 8000, 15, 50),
    "p4de.24xlarge": InstanceType(96, 1152, "A100", 8, 80, 8000, 15, 50),
    "p5.48xlarge": InstanceType(192, 2048, "H100", 8, 80, 30400, 2, 50),
    "p5.4xlarge": InstanceType(16, 256, "H100", 1, 80, 3800, 4, 30),
    "p5e.48xlarge": InstanceType(192, 2048, "H200", 8, 141, 30400, 2, 50),
    "p5en.48xlarge": InstanceType(192, 2048, "H200", 8, 141, 30400, 4, 50),
    "p6-b200.48xlarge": InstanceType(192, 2048, "B200", 8, 179, 30400, 4, 50),
    "p6-b300.48xlarge": InstanceType(192, 4096, "B300", 8, 268, 30400, 4, 50),
}
