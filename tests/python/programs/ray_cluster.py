"""Starts a Ray cluster of two workers on this machine, prints its address, and stops it at the end of the standard input.

Ray's raylet waits 15 seconds for the ports that its agents choose, which is too short on a busy machine, so this program chooses
the ports."""

import socket
import sys

from ray.cluster_utils import Cluster

PORTS = ("metrics_agent_port", "dashboard_agent_listen_port", "runtime_env_agent_port", "metrics_export_port")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def main():
    cluster = Cluster(initialize_head=True, connect=False, head_node_args={
        "num_cpus": 2, "object_store_memory": 128 << 20, "include_dashboard": False, **dict(zip(PORTS, free_ports(len(PORTS))))})
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()


main()
