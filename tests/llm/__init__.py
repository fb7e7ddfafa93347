"""The model room, against the Messages API stand-in through the real SDK, and its pure parts alone."""
