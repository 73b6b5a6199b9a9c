"""``python -m tests.bench.echo ADDRESS PORT CHAIN``: the least an admission webhook in aiohttp and msgspec can do.

It reads a review, decodes what it needs to answer, and allows: what is above this is what a webhook is for.
"""

import ssl
import sys

import msgspec
from aiohttp import web


class _Request(msgspec.Struct):
    uid: str
    object: msgspec.Raw


class _Review(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _Request


_decoder = msgspec.json.Decoder(_Review)
_encoder = msgspec.json.Encoder()


async def answer(http: web.Request) -> web.Response:
    review = _decoder.decode(await http.read())
    response = {"uid": review.request.uid, "allowed": True}
    body = {"apiVersion": review.api_version, "kind": review.kind, "response": response}
    return web.Response(body=_encoder.encode(body), content_type="application/json")


def main(address: str, port: int, chain: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    app = web.Application()
    app.router.add_post("/{phase}", answer)
    web.run_app(app, host=address, port=port, ssl_context=context, access_log=None, print=None, keepalive_timeout=300)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
