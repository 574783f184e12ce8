"""The reads of a run with nothing to do, and nothing else: `python bare.py NAMESPACE STACK ALL-HPAS CONFIGMAP ...`.

What anybody would write with the same client library; the measure of what a run costs.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource

ScaledObject = create_namespaced_resource("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
Autoscaler = create_namespaced_resource("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
ConfigMap = create_namespaced_resource("", "v1", "ConfigMap", "configmaps")


def main(namespace: str, stack: str, all_hpas: str, *config_maps: str) -> None:
    client = Client(namespace=namespace)
    print(len(list(client.list(ScaledObject, labels={"warmline.dev/stack": stack}))))
    for name in config_maps:
        with suppress(ApiError):  # there is none where nobody gave an order, and nothing was measured
            print(client.get(ConfigMap, name))
    if all_hpas == "yes":
        print(len(list(client.list(Autoscaler))))


if __name__ == "__main__":
    main(*sys.argv[1:])
