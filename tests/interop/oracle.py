"""The real ai-dynamo-runtime wheels as oracles, each in a virtual environment and a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("oracle_child.py")

# Profile -> the last patch release of it.
RELEASES = {"1.3": "1.3.1", "1.4": "1.4.2", "1.5": "1.5.1", "1.6": "1.6.1"}

# The release whose frontend runs too. Of what `ai-dynamo` asks for it imports only these.
FRONTEND = "1.6"
FRONTEND_NEEDS = ("packaging==26.4", "msgspec==0.23.0", "pyyaml==6.0.4")


@dataclass(frozen=True)
class Answer:
    """What a decoder makes of one card: a sum, or an error."""

    mdcsum: str | None
    error: str | None


def interpreter(profile: str) -> Path:
    """The Python of the environment that holds the profile's wheel; made on first use, and anew for other packages."""
    release = RELEASES[profile]
    folder = ROOT / ".venvs" / f"dynamo-{release}"
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    packages, alone = [f"ai-dynamo-runtime=={release}"], []
    if profile == FRONTEND:
        packages += FRONTEND_NEEDS
        alone = [f"ai-dynamo=={release}"]
    contents = "\n".join([*packages, *alone])
    if not ready.exists() or ready.read_text() != contents:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *packages], check=True)
        if alone:
            subprocess.run([*install, "--no-deps", *alone], check=True)
        ready.write_text(contents)
    return python


def _environment() -> dict[str, str]:
    """No router setting of the machine may reach the decoder, and it logs every refusal unless told not to."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DYN_", "PYTHON"))}
    return {**kept, "DYN_LOG": "off"}


class Oracle:
    """One wheel, asked over pipes. Not for use from several threads."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self._process = subprocess.Popen(
            [str(interpreter(profile)), str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
            env=_environment(),
        )

    def close(self) -> None:
        """End the process and wait for it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=30)

    def ask(self, card: str) -> Answer:
        """The wheel's answer for one card text."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(card) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the wheel of profile {self.profile} died on this card: {card}")
        reply = json.loads(line)
        return Answer(mdcsum=reply.get("mdcsum"), error=reply.get("error"))

    def ask_all(self, cards: Iterable[str]) -> Iterator[Answer]:
        """The answers in the order of the cards."""
        return (self.ask(card) for card in cards)


def main(profiles: list[str]) -> int:
    """Makes the environments of the named profiles."""
    for profile in profiles:
        print(interpreter(profile))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
