"""Where the programs ``muster`` and ``kubectl-muster`` begin: before anything that takes time to load."""

import os
import signal


def main() -> int:
    """As :func:`classifier.cli.main.main`. An interrupt ends it quietly while it is still being loaded, too."""
    quitting = signal.getsignal(signal.SIGINT)
    if quitting is signal.default_int_handler:  # ignored where a shell has put us in the background
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from classifier.cli.main import main as run

    signal.signal(signal.SIGINT, quitting)
    return run()
