"""What the app must be allowed and told: scopes, events, and the manifest that Slack makes an app from. Pure.

`docs/channels/slack.md` shows the same manifest; a test compares them. Source: Slack's scopes, events and app manifest
references.
"""

from __future__ import annotations

from collections.abc import Collection

COMMAND = "/executive"
SHORTCUT = "ask_executive"

SCOPES: dict[str, str] = {
    "app_mentions:read": "I do not hear mentions",
    "assistant:write": "the assistant view shows no status and no titles",
    "channels:history": "I do not read public channels",
    "channels:join": "I cannot join a public channel to answer there",
    "channels:read": "I do not know how many people are in a public channel",
    "chat:write": "I cannot write",
    "commands": f"{COMMAND} and the message shortcut do not work",
    "files:read": "I cannot fetch files",
    "files:write": "I cannot send files",
    "groups:history": "I do not read private channels",
    "groups:read": "I do not know how many people are in a private channel",
    "im:history": "I do not read direct messages",
    "im:read": "direct messages sent while I was away stay unread",
    "im:write": "I cannot begin a direct conversation",
    "mpim:history": "I do not read group conversations",
    "mpim:read": "I do not know how many people are in a group conversation",
    "reactions:write": "I cannot add reactions",
    "users:read": "I do not know people's names",
}
"""Bot token scopes and what is missing without each."""

HEARING = frozenset({"app_mentions:read", "channels:history", "groups:history", "im:history", "mpim:history"})
"""Without one of these something that is said to the executive does not reach it."""

EVENTS = (
    "app_mention",
    "app_uninstalled",
    "assistant_thread_started",
    "channel_deleted",
    "channel_left",
    "channel_rename",
    "channel_shared",
    "channel_unshared",
    "group_deleted",
    "group_left",
    "group_rename",
    "member_joined_channel",
    "member_left_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "tokens_revoked",
)

MANIFEST: dict[str, object] = {
    "display_information": {"name": "Executive", "description": "The company's executive"},
    "features": {
        "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
        "assistant_view": {"assistant_description": "Ask the executive", "suggested_prompts": []},
        "bot_user": {"display_name": "Executive", "always_online": True},
        "shortcuts": [
            {
                "name": "Ask the executive",
                "type": "message",
                "callback_id": SHORTCUT,
                "description": "Hand this message to the executive",
            }
        ],
        "slash_commands": [
            {
                "command": COMMAND,
                "description": "Speak to the executive",
                "usage_hint": "a question, or help, new, status, stop, room",
                "should_escape": True,
            }
        ],
    },
    "oauth_config": {"scopes": {"bot": list(SCOPES)}},
    "settings": {
        "event_subscriptions": {"bot_events": list(EVENTS)},
        "interactivity": {"is_enabled": True},
        "org_deploy_enabled": False,
        "socket_mode_enabled": True,
        "token_rotation_enabled": False,
    },
}


def missing(granted: Collection[str]) -> list[str]:
    """Scopes that the token does not have."""
    return [scope for scope in SCOPES if scope not in granted]


def explain(scopes: Collection[str]) -> str:
    """What these missing scopes mean and how to mend it."""
    told = "; ".join(f"{scope} ({SCOPES[scope]})" if scope in SCOPES else scope for scope in scopes)
    return f"the app lacks {told}: add them under OAuth & Permissions and install the app again"
