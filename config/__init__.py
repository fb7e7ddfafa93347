"""What may be set: the frozen schema, the loader, the commented default file and the persona.

Settings are read once at start and handed in; no room imports them for itself. This package imports nothing of ours,
so that it can be read, checked and documented alone.
"""
