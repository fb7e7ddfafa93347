"""The console: pages for the people of the company, drawn by the server, in any browser.

`visits` says who asks and guards forms, `site` turns functions of a visit into routes, `templating` and `assets` hold
what all pages share, `sign_in` is the door, `hub` and `live` tell open pages what changed, `routes` puts all together.
Each other module is one page of the menu: it reads under its visitor's own scope and does what the rooms allow that
person, as the commands and the API do. Only `bot.app` imports it, only where the web is on, and `routes` with the first
request for a page.
"""
