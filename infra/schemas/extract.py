"""Cut the vendored schemas out of the Go modules they are published in. Run by hand when a version changes.

    go mod download -json k8s.io/kubernetes@v1.34.4 github.com/kedacore/keda/v2@v2.21.0    # prints each "Dir"
    python -m infra.schemas.extract KUBERNETES_DIR KEDA_DIR

Only kinds that Warmline makes are kept, with what they refer to, without descriptions and status. Objects with known
fields are closed, which the API server's own schema does not do: it drops an unknown field with at most a warning.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
KUBERNETES_FILE = HERE / "kubernetes-1.34.json"
KEDA_FILE = HERE / "keda-2.21.json"

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

KINDS = {
    "v1/ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "v1/Namespace": "io.k8s.api.core.v1.Namespace",
    "v1/Service": "io.k8s.api.core.v1.Service",
    "v1/ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
    "apps/v1/DaemonSet": "io.k8s.api.apps.v1.DaemonSet",
    "apps/v1/Deployment": "io.k8s.api.apps.v1.Deployment",
    "batch/v1/CronJob": "io.k8s.api.batch.v1.CronJob",
    "policy/v1/PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1/Role": "io.k8s.api.rbac.v1.Role",
    "rbac.authorization.k8s.io/v1/RoleBinding": "io.k8s.api.rbac.v1.RoleBinding",
}
SCALED_OBJECT = "keda.sh/v1alpha1/ScaledObject"

# The swagger says of both no more than "string".
LOOSE = {
    INT_OR_STRING: {"type": ["integer", "string"]},
    QUANTITY: {
        "type": "string",
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]+))?$",
    },
}
KEPT = {
    "$ref", "additionalProperties", "anyOf", "enum", "items", "maximum", "maxItems", "minimum", "minItems", "minLength",
    "oneOf", "pattern", "properties", "required", "type",
}  # fmt: skip


def closed(schema: Any) -> Any:
    """The schema with only what is checked, and without room for unknown fields."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: closed(value) for key, value in schema.items() if key in KEPT and key not in {"properties", "enum"}}
    if "enum" in schema:
        kept["enum"] = schema["enum"]
    if "properties" in schema:
        kept["properties"] = {name: closed(value) for name, value in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            kept.setdefault("additionalProperties", False)
    return kept


def kubernetes(module: Path) -> dict[str, Any]:
    """Kinds and definitions out of the API server's own OpenAPI document."""
    swagger = json.loads((module / "api/openapi-spec/swagger.json").read_text(encoding="utf-8"))["definitions"]
    definitions: dict[str, Any] = {}
    waiting = [*KINDS.values()]
    while waiting:
        name = waiting.pop()
        if name in definitions:
            continue
        definition = LOOSE.get(name) or closed(_without_status(name, swagger[name]))
        definitions[name] = definition
        waiting += _references(definition)
    kinds = {kind: _of_kind(name, definitions[name]) for kind, name in KINDS.items()}
    return {"kinds": kinds, "definitions": dict(sorted(definitions.items()))}


def keda(module: Path) -> dict[str, Any]:
    """The ScaledObject out of its CustomResourceDefinition."""
    text = (module / "config/crd/bases/keda.sh_scaledobjects.yaml").read_text(encoding="utf-8")
    schema = yaml.safe_load(text)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    definition = closed(_without_status(SCALED_OBJECT, schema))
    definition["properties"]["metadata"] = {"$ref": f"#/definitions/{OBJECT_META}"}
    name = "sh.keda.v1alpha1.ScaledObject"
    return {"kinds": {SCALED_OBJECT: _of_kind(name, definition)}, "definitions": {name: definition}}


# What an object of a kind must have, though not every schema says so. A Namespace's spec is the server's business.
_CONTENT = ("spec", "rules", "roleRef")


def _of_kind(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    content = [field for field in _CONTENT if field in definition["properties"] and name != KINDS["v1/Namespace"]]
    return {"$ref": f"#/definitions/{name}", "required": ["apiVersion", "kind", "metadata", *content]}


def _without_status(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    if name not in {*KINDS.values(), SCALED_OBJECT}:
        return schema
    return schema | {"properties": {key: value for key, value in schema["properties"].items() if key != "status"}}


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in _references(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"].rpartition("/")[2]] if isinstance(schema.get("$ref"), str) else []
    return own + [name for item in schema.values() for name in _references(item)]


def main(arguments: list[str]) -> int:
    """Write both files."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for path, content in ((KUBERNETES_FILE, kubernetes(Path(arguments[0]))), (KEDA_FILE, keda(Path(arguments[1])))):
        path.write_text(json.dumps(content, separators=(",", ":"), indent=0) + "\n", encoding="utf-8")
        print(f"{path.name}: {len(content['definitions'])} definitions, {path.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
