"""The Slack bot: questions are asked where a team already is, and answered there."""
