"""A real Dynamo worker without a model; runs beside an ai-dynamo-runtime wheel, with the store of its environment."""

import argparse
import asyncio
import signal
import time
from collections.abc import AsyncIterator

from dynamo.llm import ModelInput, ModelRuntimeConfig, ModelType, WorkerType, register_model
from dynamo.runtime import DistributedRuntime, dynamo_worker

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--namespace", required=True)
parser.add_argument("--component", required=True)
parser.add_argument("--context-length", type=int, required=True)
options = parser.parse_args()


async def main(runtime: DistributedRuntime) -> None:
    """Serve until SIGTERM; one line on stdout once the card is published."""
    endpoint = runtime.endpoint(f"{options.namespace}.{options.component}.generate")
    config = ModelRuntimeConfig()
    config.context_length = options.context_length
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, runtime.shutdown)

    async def generate(_request: object) -> AsyncIterator[object]:
        """Answer a chat request with the instance id, in hex."""
        message = {"role": "assistant", "content": f"{endpoint.connection_id():x}"}
        yield {
            "id": "answer",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": options.model,
            "choices": [{"index": 0, "delta": message, "finish_reason": "stop"}],
        }

    serving = asyncio.ensure_future(endpoint.serve_endpoint(generate, graceful_shutdown=True))
    await register_model(
        ModelInput.Text,
        ModelType.Chat,
        endpoint,
        options.model,
        options.model,
        runtime_config=config,
        worker_type=WorkerType.Aggregated,
        needs=[],
        skip_model_assets=True,
    )
    print(f"registered {endpoint.connection_id():x}", flush=True)
    await serving


asyncio.run(dynamo_worker()(main)())
