"""How the two ConfigMaps are named."""

import pytest

from classifier.cluster.configmaps import KUEUE_CONFIG, parse_name


def test_a_namespace_and_a_name() -> None:
    assert parse_name("kueue-system/kueue-manager-config") == KUEUE_CONFIG
    assert parse_name(str(KUEUE_CONFIG)) == KUEUE_CONFIG


def test_nothing_is_not_read() -> None:
    assert parse_name("") is None


@pytest.mark.parametrize("text", ["config", "/config", "a/", "a/b/c", "A/b", "a.b/c", "../x", "a/..", "a b/c"])
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="NAMESPACE/NAME"):
        parse_name(text)
