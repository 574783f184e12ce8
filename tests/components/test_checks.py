"""Rules that need to know the engine: refused before anything is registered, with a way out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from infra.checks import checked_platform, misfits
from infra.dialects.table import DIALECTS, reserved_args
from infra.engine_pod import EnginePod, pod_spec
from stacks.faults import InputError
from tests.components.specs import LOADER, platform, service_data


def _with_args(**flags: str) -> dict[str, Any]:
    args = {name.replace("_", "-"): value for name, value in flags.items()}
    return {"support-bot": service_data(engine=service_data()["engine"] | {"args": args})}


@pytest.mark.parametrize(
    "flag",
    [
        *("max_num_seqs", "max_num", "max_num_s", "port", "por", "shutdown_timeout", "served_model_name", "served_m"),
        *("api_key", "api_k", "no_disable_log_stats"),
    ],
)
def test_a_flag_of_ours_is_refused(flag: str) -> None:
    (found,) = misfits(platform(_with_args(**{flag: "1"})))
    assert found.path == ("services", "support-bot", "engine", "args", flag.replace("_", "-"))
    assert found.fix.endswith(".")
    assert "*" not in found.fix


@pytest.mark.parametrize("flag", ["max_model_len", "config_format", "enable_prefix_caching", "hf_overrides"])
def test_other_flags_are_the_operators(flag: str) -> None:
    assert list(misfits(platform(_with_args(**{flag: "1"})))) == []


def test_what_a_dialect_sets_is_reserved() -> None:
    for dialect in DIALECTS.values():
        given = platform()
        service = given.services["support-bot"]
        pod = EnginePod("support-bot", service, given.node_pools["l40s"], dialect, LOADER, {})
        args: Any = pod_spec(pod).containers
        flags = [text for text in args[0].args if text.startswith("--")]
        assert flags
        for text in flags:
            assert text.removeprefix("--").partition("=")[0] in reserved_args(dialect.kind)


def test_two_services_of_one_model_are_refused() -> None:
    """Either's query would count the load of both."""
    (found,) = misfits(platform({"a": service_data(), "b": service_data()}))
    assert found.path == ("services", "b", "model", "name")


def test_the_fault_names_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).parents[2] / "stacks" / "local"
    (tmp_path / "local" / "benchmarks").mkdir(parents=True)
    for path in source.rglob("*.md"):
        (tmp_path / "local" / path.relative_to(source)).write_text("x", encoding="utf-8")
    text = (source / "platform.yaml").read_text(encoding="utf-8")
    text = re.sub(r"max_num_seqs: \d+", r"max_num_seqs: 64\n      args: {port: '1'}", text)
    (tmp_path / "local" / "platform.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(tmp_path))
    line = next(index for index, row in enumerate(text.splitlines(), 1) if "args:" in row)
    with pytest.raises(InputError) as caught:
        checked_platform("local")
    (fault,) = caught.value.faults
    assert (fault.line, fault.path) == (line, "services.support-bot.engine.args.port")
    assert str(fault).startswith(str(tmp_path))


def _of_version(version: str, **args: str) -> dict[str, Any]:
    flags = {name.replace("_", "-"): value for name, value in args.items()}
    return {"support-bot": service_data(engine=service_data()["engine"] | {"version": version, "args": flags})}


@pytest.mark.parametrize(("version", "is_refused"), [("0.17.1", True), ("0.9", True), ("0.18", False), ("1.0", False)])
def test_an_engine_that_does_not_know_what_every_engine_gets(version: str, *, is_refused: bool) -> None:
    found = list(misfits(platform(_of_version(version))))
    assert bool(found) == is_refused
    for one in found:
        assert one.path == ("services", "support-bot", "engine", "version")
        assert (one.got, one.expected) == (version, "0.18.0 or newer: every engine is started with --shutdown-timeout")


@pytest.mark.parametrize(
    ("flag", "lacks", "has"),
    [
        ("max_num_queued_reqs", "0.28.0", "0.29.0"),
        ("max_num_queued_tokens", "0.28.0", "0.29"),
        ("max_num_queued_t", "0.28.0", "0.29"),  # engines take a flag's unique beginning for the flag
        ("custom_histogram_buckets", "0.31.0", "0.32.0"),
    ],
)
def test_a_flag_that_is_younger_than_the_engine(flag: str, lacks: str, has: str) -> None:
    (found,) = misfits(platform(_of_version(lacks, **{flag: "100"})))
    name = flag.replace("_", "-")
    assert found.path == ("services", "support-bot", "engine", "args", name)
    assert found.got == f"--{name} of vllm {lacks}"
    assert found.expected.startswith(has)
    assert list(misfits(platform(_of_version(has, **{flag: "100"})))) == []
