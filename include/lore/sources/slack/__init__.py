"""Slack: a workspace read through its Web API (`source`), or from the files of an export (`export`)."""
