"""The daemon's one HTTP server: probes, and the routes of channels that are called by their platform.

`guard` decides who may ask at all (Host and Origin allow-lists against DNS rebinding, security headers on every
answer), `pages` are the daemon's own answers, `hooks` hands requests to channels, `api` is what programs of people ask
with a token, `patient` bounds how long a connection may stand there, `server` runs it all on a socket of its own in the
daemon's loop. Only `api` changes anything. Imports Starlette and uvicorn, so only `bot.app` imports
it, and only where the web is on.
"""
