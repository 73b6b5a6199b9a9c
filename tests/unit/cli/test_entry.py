"""How the program begins: an interrupt before it is all there."""

import subprocess
import sys

import pytest

#: Interrupts itself while the command is being loaded, as an impatient person does.
IMPATIENT = """
import os, signal, sys
signal.signal(signal.SIGINT, {handler})
class Impatient:
    def find_spec(self, name, path, target=None):
        if name == "classifier.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Impatient())
sys.argv = ["muster", "--help"]
from classifier.cli.entry import main
sys.exit(main())
"""


@pytest.mark.parametrize(("handler", "code"), [("signal.default_int_handler", 130), ("signal.SIG_IGN", 0)])
def test_an_interrupt_while_it_is_being_loaded_ends_it_quietly(handler: str, code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IMPATIENT.format(handler=handler)], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (code, "")
