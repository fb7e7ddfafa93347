"""List prices of the default models, and their context windows.

Prices change, and contracts differ: whoever runs the daemon must check these against the provider's own price list,
and correct them in `[llm.prices.<model>]` of the settings. They are what budgets are counted by, not a bill.
"""

from __future__ import annotations

from typing import Any

DEFAULT_WINDOW = 200_000

# US dollars for a million tokens. Writing to the cache is counted at the price of the hour, twice that of input:
# the five minutes cost less (1.25 times), and a budget had better count too much than too little.
LIST_PRICES: dict[str, dict[str, Any]] = {
    "claude-opus-5-5": {"input": 5.0, "output": 25.0, "cache_read": 0.5, "cache_write": 10.0},
    "claude-sonnet-5-5": {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 6.0},
    "claude-haiku-5-5": {"input": 1.0, "output": 5.0, "cache_read": 0.1, "cache_write": 2.0},
}
