"""Adapters between a platform and the core. Each sees only `bot.gateway`, `bot.kernel` and its own settings.

A channel keeps three things apart: `mapping` (pure: platform event to `InboundEvent`), `render` (pure: reply text
to the platform's form and parts) and `adapter` (I/O). The package's `build(settings, context)` is found by name.
"""
