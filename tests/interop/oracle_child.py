"""Runs beside one ai-dynamo-runtime wheel: a card a line in, the wheel's answer a line out."""

import json
import sys
from pathlib import Path

from dynamo._core import ModelDeploymentCard


def answer(card: str) -> dict[str, str]:
    """The sum that the wheel computes, or why it refuses the card."""
    try:
        decoded = ModelDeploymentCard.from_json_str(card)
    except Exception as error:  # noqa: BLE001  the wheel raises plain `Exception` for every refusal
        return {"error": str(error)}
    # The wheel shows the checksum only as the last part of the card's cache folder.
    return {"mdcsum": Path(decoded.local_dir()).name}


for line in sys.stdin:
    sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
    sys.stdout.flush()
