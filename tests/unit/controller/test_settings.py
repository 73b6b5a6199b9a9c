"""The controller's arguments: defaults, units, and every mistake named at once."""

import pytest

from classifier.instant import HOUR, MINUTE, SECOND
from controller import settings
from controller.settings import parser


def complaints(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        settings.parse(arguments)
    assert stopped.value.code == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("muster-controller: error: ")
    return last.removeprefix("muster-controller: error: ")


def test_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POD_NAME", raising=False)
    parsed = settings.parse([])
    assert (parsed.bind_address, parsed.metrics_port, parsed.namespace) == ("127.0.0.1", 8080, "muster-system")
    assert (parsed.fence, parsed.fence_settle) == ("muster-fence", 30 * SECOND)
    assert (parsed.notice, parsed.recovery_grace, parsed.outage_after) == (None, 5 * MINUTE, 10 * SECOND)
    assert (parsed.default_timeout, parsed.max_timeout) == (None, None)
    assert (parsed.rate, parsed.burst, parsed.workers) == (50, 100, 16)
    assert (parsed.identity, parsed.log_level, parsed.kubeconfig) == ("muster-controller", "info", None)


def test_what_the_chart_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "muster-controller-7d9f-x2x")
    parsed = settings.parse(
        [
            "--bind-address=10.0.0.7",
            "--metrics-port=8080",
            "--namespace=muster-system",
            "--fence=muster-fence",
            "--fence-settle=0s",
            "--notice=90s",
            "--recovery-grace=1h30m",
            "--outage-after=500ms",
            "--default-timeout=",
            "--max-timeout=4h",
            "--rate=0",
            "--burst=1",
            "--workers=1",
            "--log-level=debug",
        ]
    )
    assert parsed.identity == "muster-controller-7d9f-x2x"
    assert (parsed.fence_settle, parsed.notice, parsed.recovery_grace) == (0, 90 * SECOND, HOUR + 30 * MINUTE)
    assert (parsed.outage_after, parsed.default_timeout, parsed.max_timeout) == (500, None, 4 * HOUR)
    assert parsed.rate == 0


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--fence-settle=soon", "--fence-settle: 'soon' is not a duration such as 1h30m or 90s"),
        ("--dispatch-prefix=dispatch.example.com", "--dispatch-prefix: 'dispatch.example.com' is not a prefix such as"),
        ("--notice=10", "--notice: '10' is not a duration"),
        ("--notice=-5m", "--notice: '-5m' is not a positive duration"),
        ("--recovery-grace=5 minutes", "--recovery-grace: '5 minutes' is not a duration"),
        ("--outage-after=1d", "--outage-after: '1d' is not a duration"),
        ("--default-timeout=999999999h", "--default-timeout: '999999999h' is longer than 292 years"),
        ("--default-timeout=0", "--default-timeout: 0 would end every wait at once"),
        ("--max-timeout=0s", "--max-timeout: 0 would end every wait at once"),
        ("--rate=fast", "--rate: 'fast' is not a number"),
        ("--rate=nan", "--rate: 'nan' is not a number"),
        ("--rate=inf", "--rate: 'inf' is not a number"),
        ("--rate=-1", "--rate: -1.0 is negative"),
        ("--burst=0", "--burst: 0 is not at least 1"),
        ("--burst=many", "--burst: 'many' is not a whole number"),
        ("--workers=1.5", "--workers: '1.5' is not a whole number"),
        ("--metrics-port=http", "--metrics-port: 'http' is not a whole number"),
        ("--metrics-port=65536", "--metrics-port: 65536 is not a port"),
        ("--metrics-port=-1", "--metrics-port: -1 is not a port"),
        ("--log-level=loud", "--log-level: 'loud' is none of debug, info, warning, error"),
        ("--fence=", "--fence: must not be empty"),
        ("--namespace=", "--namespace: must not be empty"),
        ("--bind-address=", "--bind-address: must not be empty"),
        ("--identity=", "--identity: must not be empty"),
        ("--fance=x", "--fance=x: no such argument"),
        ("--work=3", "--work=3: no such argument"),
    ],
)
def test_a_mistake_is_named_with_its_argument(capsys: pytest.CaptureFixture[str], argument: str, says: str) -> None:
    complaint = complaints(capsys, argument)
    assert says in complaint
    assert ";" not in complaint.replace("; leave it empty", "").replace("; 0 means unlimited", ""), "one at a time"


def test_all_mistakes_are_named_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    bad = {
        "--bind-address": "",
        "--metrics-port": "http",
        "--namespace": "",
        "--identity": "",
        "--fence": "",
        "--fence-settle": "soon",
        "--notice": "later",
        "--recovery-grace": "x",
        "--outage-after": "x",
        "--default-timeout": "0",
        "--max-timeout": "x",
        "--rate": "x",
        "--burst": "x",
        "--workers": "0",
        "--log-level": "x",
        "--nonsense": "x",
    }
    complaint = complaints(capsys, *(f"{flag}={value}" for flag, value in bad.items()))
    for flag in bad:
        assert f"{flag}" in complaint


def test_every_argument_says_what_it_is_for() -> None:
    for action in parser()._actions:
        assert action.help, action.option_strings
        assert not action.help.endswith("."), action.option_strings
    assert "muster-controller" in parser().format_help()
