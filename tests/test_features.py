"""No Cargo feature may change how numbers are read, and with it every checksum of router settings (WIRE 3.5)."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def features(crate: str) -> list[set[str]]:
    """The features switched on for each version of the crate in the resolved workspace, tests and builds included."""
    run = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--locked", "--all-features"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    metadata = json.loads(run.stdout)
    ids = {package["id"] for package in metadata["packages"] if package["name"] == crate}
    return [set(node["features"]) for node in metadata["resolve"]["nodes"] if node["id"] in ids]


@pytest.mark.parametrize("feature", ["float_roundtrip", "arbitrary_precision"])
def test_serde_json_reads_numbers_as_dynamo_does(feature: str) -> None:
    resolved = features("serde_json")
    assert resolved, "the workspace no longer uses serde_json: this test watches the wrong crate"
    assert all("raw_value" in active for active in resolved), resolved
    assert not any(feature in active for active in resolved), resolved
