# ruff: noqa: PYI021  the prose lives here and not in Rust; argument names are those of the native code
"""Model deployment cards."""

from typing import Any, Final, Literal, final

from typing_extensions import Self

from workerset._values import _Json, _Profile, _Record, _RouterMode, _WorkerType

__all__ = [
    "CardDifference",
    "ModelCard",
    "explain",
]

# Cards.

@final
class ModelCard:
    """A decoded model deployment card of one release.

    Frozen; compares and hashes by its bytes, release and decoded content, and pickles. Mappings are new plain dicts on
    every read; the first of them decodes the card into a tree (about 10 us).
    """

    @staticmethod
    def from_json(
        raw: bytes | str, profile: str = "1.6", router_policy_files: str | frozenset[str] | set[str] = "refuse"
    ) -> ModelCard:
        """Decode a card as a release decodes card text (WIRE 0, 1). About 5 us for 2 kB, the checksum included.

        ``profile``: the release, ``"1.3"`` to ``"1.6"``. ``router_policy_files``: see :class:`AdmissionConfig`.
        Raises :class:`CardError` with the field at fault, :class:`ConfigError` for an unknown profile. A text with a
        lone surrogate is no card.
        """

    @property
    def mdcsum(self) -> str:
        """The compatibility identity, equal to what the release computes (clause I3, WIRE 2)."""
    @property
    def profile(self) -> _Profile:
        """The release that the card was decoded as."""
    @property
    def raw(self) -> bytes:
        """The bytes that the card was decoded from."""
    @property
    def display_name(self) -> str:
        """Name of the model, or of the adapter."""
    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the model, in the order advertised. Always empty in profile 1.3."""
    @property
    def model_type(self) -> str:
        """What the model can be asked for, as the card's JSON says it: ``Chat | Completions``."""
    @property
    def model_types(self) -> str:
        """The same as keys and routes say it: ``chat|completions``."""
    @property
    def model_input(self) -> Literal["Text", "Tokens", "Tensor"]:
        """What the worker takes."""
    @property
    def worker_type(self) -> _WorkerType | None:
        """The role as advertised; None for a legacy card."""
    @property
    def effective_worker_type(self) -> _WorkerType:
        """The role that counts (WIRE 4): as advertised, else prefill by model type, else aggregated."""
    @property
    def needs(self) -> tuple[tuple[_WorkerType, ...], ...]:
        """Alternatives of roles that must also be there: any one of them, all roles of it."""
    @property
    def kv_cache_block_size(self) -> int:
        """Tokens in a KV cache block."""
    @property
    def context_length(self) -> int:
        """The effective context length, in tokens (WIRE 2.1); 0 if the card says none."""
    @property
    def migration_limit(self) -> int:
        """How often a request may move to another worker."""
    @property
    def router_mode(self) -> _RouterMode | None:
        """The router mode that the card advertises, if it does."""
    @property
    def source_path(self) -> str | None:
        """Where the worker took the model from."""
    @property
    def slug(self) -> str:
        """Name of the model in file names."""
    @property
    def metadata_cache_key(self) -> str:
        """Names the model's metadata in a cache: ``<slug>/<mdcsum>`` (clause I4)."""
    @property
    def lora(self) -> dict[str, Any] | None:
        """What makes the card an adapter's: ``name`` and, if said, ``max_gpu_lora_count``."""
    @property
    def router_config(self) -> dict[str, Any] | None:
        """The advertised router configuration, every default of the release filled in (WIRE 3)."""
    @property
    def runtime_config(self) -> dict[str, Any]:
        """The worker's runtime configuration, every default filled in."""
    @property
    def tokenizer(self) -> dict[str, Any] | None:
        """Kind and file of the tokenizer."""
    @property
    def model_info(self) -> dict[str, Any] | None:
        """Kind and file of the model configuration."""
    @property
    def prompt_formatter(self) -> dict[str, Any] | None:
        """Kind and file of the prompt template."""
    @property
    def chat_template_file(self) -> dict[str, Any] | None:
        """Kind and file of a chat template of its own."""
    @property
    def gen_config(self) -> dict[str, Any] | None:
        """Kind and file of the generation configuration."""
    @property
    def user_data(self) -> _Json:
        """What the worker's operator added: any JSON value."""

    def to_dict(self) -> dict[str, Any]:
        """The decoded card as its release writes it, every default filled in."""

    def projection_fingerprint(self) -> str:
        """64 hex digits that change exactly when adapter projections do (clause L3, WIRE 6)."""

    def normalized(self, tokenizer_backend: str | None = None, tokenizer_fallback: bool | None = None) -> ModelCard:
        """What the discovery boundary makes of the card (WIRE 4 a, b).

        The legacy prefill topology is filled in, and the frontend's tokenizer settings are written over the card's.
        Raises :class:`CardError` for a backend that the release does not know.
        """

    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class CardDifference(_Record):
    """A field that feeds the checksum and is not the same in two cards (clause I5).

    ``field``: path in the card's JSON without enum variants. ``left``, ``right``: the values, defaults filled in; None
    if absent; files show their digest.
    """

    __match_args__ = ("field", "left", "right")
    field: Final[str]
    left: Final[_Json]
    right: Final[_Json]
    def __new__(cls, field: str, left: _Json, right: _Json) -> Self: ...

def explain(a: ModelCard, b: ModelCard) -> tuple[CardDifference, ...]:
    """The differences that feed the checksum, in the order in which they are hashed.

    Empty if and only if the sums are equal. Raises :class:`CardError` for cards of different profiles.
    """
