"""AdmissionReview ``admission.k8s.io/v1``: bytes to a typed request, an answer to bytes.

The reviewed object stays raw until its kind is known, and one that does not fit our structs is no error of the review:
it is allowed with a warning (reference/engineering.md §C 7). What is wrong with the *review* is our caller's fault:
:class:`BadReview`, answered with a 4xx, which the API server treats as a failed call (so ``failurePolicy`` decides).
"""

import base64
from typing import Any, Final

import msgspec

from classifier.objects import Obj

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"

#: Clients may cut longer warnings, and the API server drops them all above 4096 characters (capacity.md §3.11).
WARNING_LIMIT: Final = 120
WARNINGS: Final = 2


class BadReview(Exception):
    """The request is not a review we can answer. ``status`` is the HTTP code, ``cause`` the metric's label."""

    def __init__(self, status: int, reason: str, message: str, cause: str = "malformed") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.cause = cause


class GroupVersionKind(Obj):
    group: str = ""
    version: str = ""
    kind: str = ""


class UserInfo(Obj):
    username: str = ""


class Asked(Obj):
    """What the API server asks about, apart from the objects."""

    uid: str
    kind: GroupVersionKind
    operation: str = ""
    sub_resource: str = ""
    namespace: str = ""
    name: str = ""
    user_info: UserInfo | None = None
    dry_run: bool | None = None


class Request(Asked):
    """``object`` is JSON of the reviewed object, ``null`` on DELETE; ``old_object`` of the one it replaces, ``null`` on
    CREATE."""

    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def document(self) -> msgspec.Raw:
        """The reviewed object as it came."""
        return self.object


class _Review(Obj):
    api_version: str = ""
    kind: str = ""
    request: Request | None = None


class Cause(Obj):
    """``metav1.StatusCause``: ``reason`` for machines, ``field`` says where."""

    reason: str
    message: str
    field: str


class Denial(msgspec.Struct, frozen=True):
    """``message`` is shown to the user as it is, after the API server's own words."""

    message: str
    causes: tuple[Cause, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """``patch`` is a JSON Patch; empty means none. Of ``warnings`` the first two are sent, cut to the limit."""

    patch: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    denial: Denial | None = None

    @property
    def result(self) -> str:
        """For the metric."""
        if self.denial:
            return "denied"
        return "patched" if self.patch else "allowed"


ALLOWED: Final = Answer()

_decoder: Final = msgspec.json.Decoder(_Review)
_encoder: Final = msgspec.json.Encoder()
#: Most answers, but for the uid.
_ALLOWED: Final = b'{"apiVersion":"%b","kind":"%b","response":{"uid":%%b,"allowed":true}}' % (
    API_VERSION.encode(),
    KIND.encode(),
)


def decode(body: bytes) -> Request:
    """The request of a review. Raises :class:`BadReview` that says what is wrong with it."""
    if not body:
        raise BadReview(400, "BadRequest", "the body is empty; an AdmissionReview is expected")
    try:
        review = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadReview(400, "BadRequest", f"the body is no AdmissionReview: {error or type(error).__name__}") from None
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        found = f"{review.api_version[:64]!r} {review.kind[:64]!r}"
        raise BadReview(400, "BadRequest", f"{API_VERSION} {KIND} is expected, not {found}")
    if review.request is None:
        raise BadReview(400, "BadRequest", "the review has no request")
    if not review.request.uid:
        raise BadReview(400, "BadRequest", "the review's request has no uid")
    return review.request


def encode(uid: str, answer: Answer) -> bytes:
    """The review that answers request ``uid``; a patch never comes without its type, nor the type without a patch."""
    if answer is ALLOWED:
        return _ALLOWED % _encoder.encode(uid)
    response: dict[str, Any] = {"uid": uid, "allowed": answer.denial is None}
    if answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(_encoder.encode(answer.patch)).decode()
    if answer.warnings:
        response["warnings"] = [short(text) for text in answer.warnings[:WARNINGS]]
    if answer.denial:
        response["status"] = _status(403, "Forbidden", answer.denial.message, answer.denial.causes)
    return _encoder.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def encode_refusal(error: BadReview) -> bytes:
    """A refused request, still in AdmissionReview form so that any client can show the reason."""
    status = _status(error.status, error.reason, str(error))
    response = {"uid": "", "allowed": False, "status": status}
    return _encoder.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def short(text: str) -> str:
    """One line of at most 120 characters, without control characters: it travels in an HTTP header."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= WARNING_LIMIT else line[: WARNING_LIMIT - 1] + "…"


def _status(code: int, reason: str, message: str, causes: tuple[Cause, ...] = ()) -> dict[str, Any]:
    status: dict[str, Any] = {"status": "Failure", "code": code, "reason": reason, "message": message}
    if causes:
        status["details"] = {"causes": causes}
    return status
