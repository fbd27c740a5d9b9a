"""Writes the inputs that the target `record` starts from: every record and card under `tests/fixtures`.

python rust/fuzz/seeds.py FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"


def records() -> Iterator[tuple[str, str]]:
    """Path and text of each record."""
    store = json.loads((FIXTURES / "discovery" / "file_store.json").read_text())
    yield from ((unquote(name), text) for name, text in store.items())
    for line in (FIXTURES / "cards" / "vectors.jsonl").read_text().splitlines():
        card = json.loads(line).get("card")
        if isinstance(card, str):
            place = '"type":"Model","namespace":"n","component":"c","endpoint":"e","instance_id":1'
            yield "v1/mdc/n/c/e/1", f'{{{place},"card_json":{card}}}'


def main(folder: Path) -> None:
    """Write one file a record."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (path, text) in enumerate(records()):
        (folder / f"{number:05}").write_bytes(f"{path}\n{text}".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
