"""For every test, with and without a cluster."""

import asyncio


def pytest_configure() -> None:
    # Up to Python 3.13 the first get_event_loop() of a thread makes a loop unless one was set, be it None.
    # pytest-asyncio asks before its first test and never closes what it got, which is an error in some later test.
    asyncio.set_event_loop(None)
