"""Which requests are read without a complete HTTP server: API servers' own, and nothing that has a second meaning."""

import pytest

from webhook.head import Head, head_of

#: As kube-apiserver sends it.
REQUEST = (
    b"POST /mutate?timeout=2s HTTP/1.1\r\n"
    b"Host: muster-webhook.muster-system.svc:443\r\n"
    b"User-Agent: kube-apiserver-admission\r\n"
    b"Content-Length: 17\r\n"
    b"Accept: application/json, */*\r\n"
    b"Content-Type: application/json\r\n"
    b"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n"
    b"Accept-Encoding: gzip\r\n"
    b"\r\n"
)


def test_what_an_api_server_sends() -> None:
    assert head_of(REQUEST + b"{}") == Head("/mutate", "timeout=2s", len(REQUEST), 17)
    assert head_of(REQUEST.replace(b"?timeout=2s", b"")) == Head("/mutate", "", len(REQUEST) - 11, 17)
    longer = REQUEST.replace(b"17", b"4711").replace(b"Content-Type", b"content-type")
    assert head_of(longer) == Head("/mutate", "timeout=2s", len(longer), 4711)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"POST", b"GET"),
        (b"POST", b"post"),
        (b"HTTP/1.1", b"HTTP/1.0"),
        (b"HTTP/1.1", b"HTTP/1.1 x"),
        (b"/mutate?", b"https://x/mutate?"),
        (b"/mutate?", b"/mut\xc3\xa4te?"),
        (b"/mutate?", b"/mut\x00ate?"),
        (b"timeout=2s", b"timeout=2s#x"),
        (b"POST /mutate", b"POST  /mutate"),
        (b"Content-Length: 17\r\n", b""),
        (b"Content-Length: 17", b"Content-Length: 0"),
        (b"Content-Length: 17", b"Content-Length: +17"),
        (b"Content-Length: 17", b"Content-Length: 1_7"),
        (b"Content-Length: 17", b"Content-Length: 17, 17"),
        (b"Content-Length: 17", b"Content-Length: 17\r\nContent-Length: 17"),
        (b"Content-Length: 17", b"Content-Length: 17\r\ncontent-length: 18"),
        (b"Content-Length: 17", b"content-length: 18\r\nContent-Length: 17"),
        (b"Content-Length: 17", b"content-length: 17"),
        (b"Content-Length: 17", b"Content-Length:17"),
        (b"Content-Length: 17", b"Content-Length: 17 "),
        (b"Content-Length: 17", b"Content-Length: "),
        (b"Content-Length: 17", b"Content-Length : 17"),
        (b"Content-Length: 17", b"Content-Length: " + b"1" * 5000),
        (b"Accept: ", b"Transfer-Encoding: chunked\r\nAccept: "),
        (b"Accept: ", b"tRANSFER-eNCODING: chunked\r\nAccept: "),
        (b"Accept: ", b"Content-Encoding: gzip\r\nAccept: "),
        (b"Accept: ", b"Expect: 100-continue\r\nAccept: "),
        (b"Accept: ", b"Connection: close\r\nAccept: "),
        (b"Accept: ", b"Upgrade: h2c\r\nAccept: "),
        (b"Accept: ", b" folded: x\r\nAccept: "),
        (b"Accept: ", b"no colon\r\nAccept: "),
        (b"Accept: ", b": no name\r\nAccept: "),
        (b"gzip", b"gz\nip"),
        (b"gzip", b"gz\rip"),
        (b"application/json\r\n", b"application/yaml\r\n"),
        (b"application/json\r\n", b"application/json; charset=utf-8\r\n"),
        (b"Content-Type: application/json\r\n", b""),
        (b"gzip", b"g" * 9000),
    ],
)
def test_any_other_form_is_none_of_ours(old: bytes, new: bytes) -> None:
    assert old in REQUEST
    assert head_of(REQUEST.replace(old, new, 1) + b"{}") is None


def test_a_part_of_a_head_is_none() -> None:
    assert [end for end in range(len(REQUEST)) if head_of(REQUEST[:end]) is not None] == []
