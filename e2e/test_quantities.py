"""Quantities against the real API server: which it reads, and as how much. Nothing is kept (``dryRun``)."""

import asyncio
import random
import re
from typing import Any, Final

import msgspec

from classifier.cluster.client import ApiError, Client
from classifier.objects.meta import Quantity
from classifier.quantity import QuantityError, canonical, milli
from tests.unit.test_quantity import ACCEPTED, REFUSED

SEED: Final = 20261130
RANDOM: Final = 600
#: Requests at the same time.
PARALLEL: Final = 16
#: What quantities are made of, digits more often than the rest.
PIECES: Final = (
    *"00112233445566778899",
    *("10", "1024", "999999999", "9223372036854775807", "0.001", "."),
    *("+", "-", "e", "E", "e3", "E-3", "e+30", " ", "n", "u", "m", "k", "K", "M", "G", "T", "P", "i", "Ki", "Mi"),
    *("Gi", "Ti", "Pi", "Ei", "_", "x", "\u0661", "\u00b5"),
)
_HUGE: Final = re.compile(r"[eE][+-]?[0-9]{4}")


def texts() -> list[Quantity]:
    """The tables of the unit tests, and what chance makes of the same letters."""
    chance = random.Random(SEED)
    made = ("".join(chance.choices(PIECES, k=chance.randint(1, 5))) for _ in range(RANDOM))
    # Of a power of ten of a million digits the API server writes out every one, for minutes.
    bearable = [text for text in dict.fromkeys(made) if not _HUGE.search(text)]
    accepted = [quantity for quantity, *_ in ACCEPTED if isinstance(quantity, str | int | float)]
    refused = [quantity for quantity in REFUSED if isinstance(quantity, str)]
    return [*accepted, *refused, *bearable]


def ours(quantity: Quantity) -> int | None:
    """Milli-units, which is what every list of resources is rounded up to (k8s: pkg/apis/core/v1/defaults.go)."""
    try:
        return milli(quantity)
    except QuantityError:
        return None


async def theirs(client: Client, namespace: str, quantity: Quantity) -> str | None:
    """The text that the API server keeps; None where it cannot read it.

    A ResourceQuota takes any quantity of 0 or more; of others it is only known that they were read: "-".
    """
    body = {"metadata": {"name": "any"}, "spec": {"hard": {"cpu": quantity}}}
    try:
        answer = await client.request(
            "POST", f"/api/v1/namespaces/{namespace}/resourcequotas", params={"dryRun": "All"}, body=body
        )
    except ApiError as error:
        if error.status == 422 and "must be greater than or equal to 0" in error.message:
            return "-"
        if error.status != 400:
            raise
        return None
    stored: dict[str, Any] = msgspec.json.decode(answer)
    return str(stored["spec"]["hard"]["cpu"])


async def test_quantities_are_read_as_the_api_server_reads_them(client: Client, ns: str) -> None:
    turn = asyncio.Semaphore(PARALLEL)

    async def differs(quantity: Quantity) -> str | None:
        async with turn:
            said = await theirs(client, ns, quantity)
        mine = ours(quantity)
        same = mine is not None and mine < 0 if said == "-" else mine == (None if said is None else ours(said))
        if said not in (None, "-", str(quantity).strip(" ")):
            # Not the text as it came, so the API server wrote it anew.
            same = same and canonical(said) == said
        return None if same else f"{quantity!r}: the API server {said!r}, we {mine}"

    found = await asyncio.gather(*map(differs, texts()))
    assert not [text for text in found if text is not None]
