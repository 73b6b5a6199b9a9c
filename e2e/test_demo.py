"""The demo goes as announced."""

import asyncio
import sys

import pytest

#: Its own cluster starts, plays and stops; the demo promises two minutes on a quiet machine.
PATIENCE = 600


@pytest.mark.timeout(PATIENCE)
async def test_all_four_acts_go_as_announced() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "e2e.demo"), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        told, _ = await asyncio.wait_for(process.communicate(), PATIENCE - 20)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    output = told.decode()
    assert process.returncode == 0, output
    assert "all four acts went as announced" in output
    for act in "1234":
        assert f"act {act}: as announced" in output
