"""The gate: decides what may be published. It computes no data and knows no Spark."""

from lazaretto.gate.decide import decide
from lazaretto.gate.outcome import asset_state_after, exit_code
from lazaretto.model.policy import BUILT_IN, Policy, PolicyRow

__all__ = ["BUILT_IN", "Policy", "PolicyRow", "asset_state_after", "decide", "exit_code"]
