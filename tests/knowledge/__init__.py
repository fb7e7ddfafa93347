"""Documents: taking in, deciding, finding, reading, removing."""
