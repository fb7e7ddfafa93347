"""The console in a real browser, over the real daemon with a small company's words in it.

`make test-web` runs these; they need Chromium. `company` starts and fills the daemon, `conftest` opens browsers and
holds every page to the same rules: no fault on the console, nothing asked of another host. With SCREENSHOTS=1 the
pictures of `docs/console.md` are made anew.
"""
