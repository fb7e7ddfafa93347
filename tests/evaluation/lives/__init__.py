"""A checkpointed life of a memory: messages, edits, deletes, corrections, restarts, and at each checkpoint a table of
what is true, scored by exact match.

`script` says what happens in a life, `written` holds lives written by hand and `generate` makes more from seeds,
`systems` runs them (the product, and three simple baselines), `score` (pure) counts.
"""
