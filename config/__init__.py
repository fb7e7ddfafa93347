"""What may be set: the frozen schema, the loader, the documents made from the schema, and the persona.

`schema` and `types` say what may be set, `rules` what several keys decide together, `sources` and `loader` read it,
`document` and `effective` show it. Settings are read once at start and handed in; no room imports them for itself.
This package imports nothing of ours, so that it can be read, checked and documented alone.
"""
