"""Settings: where they are read from, what is refused, and that no message repeats a value."""

from __future__ import annotations

import re

import pytest
from lore.errors import ConfigurationError
from lore.settings import SETTINGS, Settings, load_settings


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_process_goes_before_the_file_and_arguments_before_both(folder):
    (folder / ".env").write_text("LORE_ALPHA=0.1\nLORE_THREADS=3\nLORE_RERANK_LIMIT=5\n")
    settings = load_settings({"LORE_THREADS": "2", "LORE_ALPHA": "0.2"}, alpha=0.3)
    assert (settings.query.alpha, settings.models.threads, settings.query.rerank_limit) == (0.3, 2, 5)


def test_an_empty_variable_is_as_good_as_none():
    assert load_settings({"LORE_ALPHA": ""}).query.alpha == 0.5


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(ConfigurationError, match=r"Unknown setting LORE_INDEX_URL. Did you mean LORE_INDEX_URI\?"):
        load_settings({"LORE_INDEX_URL": "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LORE_ALPHA", "nan"),
        ("LORE_ALPHA", "half"),
        ("LORE_THREADS", "-1"),
        ("LORE_TIMEOUT_SECONDS", "inf"),
        ("LORE_RETRIEVE_LIMIT", "1e3"),
    ],
)
def test_a_value_that_does_not_fit_is_named_but_not_repeated(name, value):
    with pytest.raises(ConfigurationError, match=name) as caught:
        load_settings({name: value, "LORE_OPENAI_API_KEY": "sk-hidden"})
    assert "sk-hidden" not in f"{caught.value!r}{caught.value}"
    assert value not in str(caught.value)


def test_keys_do_not_show(folder):
    (folder / ".env").write_text("GITHUB_TOKEN=ghp-hidden\n")
    settings = load_settings({"LORE_OPENAI_API_KEY": "sk-hidden"})
    assert settings.github.token is not None
    assert "hidden" not in f"{settings!r}{settings}{settings.providers.model_dump()}{settings.github.model_dump_json()}"


def test_a_file_that_cannot_be_read_is_named(folder):
    (folder / ".env").write_bytes(b"LORE_ALPHA=\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"Couldn.t read .*\.env"):
        load_settings({})


def test_the_home_folder_can_be_written_as_a_tilde(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    settings = load_settings({"LORE_STAGING_URI": "~/s", "LORE_INDEX_URI": "~/i", "LORE_CACHE_DIR": "~/c"})
    assert (settings.ingest.staging_uri, settings.index.index_uri) == (f"{folder}/s", f"{folder}/i")
    assert settings.project.cache_dir == folder / "c"
    assert load_settings({"LORE_STAGING_URI": "s3://bucket/~"}).ingest.staging_uri == "s3://bucket/~"


def test_a_blank_value_is_none_and_a_line_break_is_no_part_of_a_key():
    settings = load_settings({"LORE_THREADS": " ", "LORE_CHAT_MODEL": "  ", "OPENAI_API_KEY": " sk-key\r\n"})
    assert (settings.models.threads, settings.models.chat_model) == (0, "")
    assert settings.providers.openai_api_key is not None
    assert settings.providers.openai_api_key.get_secret_value() == "sk-key"


@pytest.mark.parametrize("name", SETTINGS)
def test_no_mistake_is_told_in_the_words_of_pydantic(name):
    for value in ("\0", "-1.5", "9e99", "maybe", "{}"):
        try:
            load_settings({f"LORE_{name.upper()}": value})
        except ConfigurationError as error:
            assert not re.search(r"[Ii]nput should|String should|unable to|valid (?:string|integer)", error.message)
            assert f"LORE_{name.upper()} " in error.message


def test_settings_are_grouped_and_each_has_one_name():
    assert SETTINGS["slack_token"].group == "slack" and SETTINGS["slack_token"].field == "token"
    settings = Settings.of(slack_token="xoxb-1", alpha=0.2)
    assert settings.value("alpha") == settings.query.alpha == 0.2
    changed = settings.with_values(alpha=0.3)
    assert (settings.query.alpha, changed.query.alpha, changed.slack) == (0.2, 0.3, settings.slack)
    with pytest.raises(ConfigurationError, match="Unknown setting 'alhpa'") as caught:
        settings.with_values(alhpa=1)
    assert caught.value.remedy == "Did you mean alpha?"
    with pytest.raises(ConfigurationError, match="LORE_ALPHA should be 1 or less") as caught:
        settings.with_values(alpha=3, threads="x")
    assert "LORE_THREADS should be a whole number" in caught.value.message
    for frozen, name in ((settings, "query"), (settings.query, "alpha")):
        with pytest.raises((AttributeError, ValueError)):
            setattr(frozen, name, 1)
