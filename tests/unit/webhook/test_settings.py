"""The command line: defaults that work in the chart, and every problem at once."""

import pytest

from webhook.settings import SettingsError, parser, read

ENVIRONMENT = {"POD_NAMESPACE": "muster-system"}


def test_the_charts_arguments() -> None:
    settings = read(
        [
            "--bind-address=10.0.0.7",
            "--port=9443",
            "--metrics-port=8080",
            "--namespace=muster-system",
            "--service=muster-webhook",
            "--ca-secret=muster-webhook-ca",
            "--configuration=muster-webhook",
            "--default-timeout=",
            "--max-timeout=4h",
            "--drain=15s",
            "--log-level=info",
        ],
        {},
    )
    assert (settings.default_timeout, settings.max_timeout, settings.drain) == (None, 14_400_000, 15_000)
    assert settings.server_name == "muster-webhook.muster-system.svc"


def test_every_problem_is_named_with_its_argument() -> None:
    with pytest.raises(SettingsError) as caught:
        read(
            [
                "--bind-address=here",
                "--port=0",
                "--metrics-port=99999",
                "--namespace=Muster",
                "--default-timeout=2 days",
                "--max-timeout=-1h",
                "--drain=",
                "--tls-min-version=1.0",
                "--certificate-mode=none",
                "--log-level=loud",
            ],
            {},
        )
    arguments = [problem.partition(":")[0] for problem in caught.value.problems]
    assert sorted(arguments) == sorted(
        [
            "--bind-address",
            "--port",
            "--metrics-port",
            "--namespace",
            "--default-timeout",
            "--max-timeout",
            "--drain",
            "--tls-min-version",
            "--certificate-mode",
            "--log-level",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--default-timeout=2h", "--max-timeout=1h"], "--default-timeout: 2h is longer than --max-timeout 1h"),
        (["--port=8080"], "--metrics-port: 8080 is already the TLS port"),
    ],
)
def test_values_that_contradict_each_other(arguments: list[str], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        read(arguments, ENVIRONMENT)


def test_an_unknown_argument_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read(["--drian=15s"], ENVIRONMENT)
    assert caught.value.code == 2
    assert "--drian" in capsys.readouterr().err


def test_the_help_says_what_each_argument_does_and_its_default() -> None:
    text = " ".join(parser(ENVIRONMENT).format_help().split())
    assert "how long to go on answering after SIGTERM, while endpoints forget us; default 15s" in text
