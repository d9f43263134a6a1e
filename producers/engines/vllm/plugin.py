"""What vLLM loads of ours: the entry point `mentor_stream` of its group `vllm.general_plugins`.

Called in each of vLLM's processes, and perhaps twice in one.
"""

BACKEND = "mentor-stream"
"""What `--weight-transfer-config` calls our way of loading weights."""
FETCH = "weight_transfer_engine"
"""The attribute of vLLM's workers that holds our engine. /collective_rpc calls it: it fetches snapshots."""
INTACT = "The weights in use were not touched."
"""Part of the error when a snapshot was not even begun with."""
AGAIN = "Another try may do."
"""Part of the error when it was no fault of the snapshot."""


def register() -> None:
    """Make the backend known; what it needs is imported when it is used."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory

    if BACKEND not in WeightTransferEngineFactory._registry:
        WeightTransferEngineFactory.register_engine(BACKEND, f"{__package__}.transfer", "SnapshotTransfer")
