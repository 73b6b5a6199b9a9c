"""The demo goes as announced, and says so when it does not."""

import asyncio
import sys

import pytest

#: Its own cluster starts, plays and stops; the demo promises two minutes on a quiet machine.
PATIENCE = 300


async def demo(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "e2e.demo", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE - 20)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest.mark.timeout(PATIENCE)
async def test_all_four_acts_go_as_announced() -> None:
    status, output = await demo()
    assert status == 0, output
    assert "all four acts went as announced" in output
    for act in "1234":
        assert f"act {act}: as announced" in output


@pytest.mark.timeout(PATIENCE)
async def test_an_act_that_goes_wrong_is_noticed() -> None:
    """The second act is broken on purpose: a gang that fits is announced as one that is refused."""
    status, output = await demo("--sabotage", "2")
    assert status == 1, output
    assert "act 2: the API server accepted a gang that can never run" in output
    assert "act 3: as announced" not in output
