"""Stands in for the module `requests_gssapi` on machines where that cannot be built.

That module needs a C compiler and the headers of Kerberos; this one needs only the library. The
protocol is the same: SPNEGO with the caller's ticket.
"""

import base64
import ctypes
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.auth import AuthBase

LIBRARY = "libgssapi_krb5.so.2"
REQUIRED, OPTIONAL, DISABLED = 1, 2, 3
_MUTUAL, _FAILED = 2, 0xFFFF0000


class Text(ctypes.Structure):
    """The structure gss_buffer_desc."""

    _fields_ = (("length", ctypes.c_size_t), ("value", ctypes.c_void_p))


class Oid(ctypes.Structure):
    """The structure gss_OID_desc."""

    _fields_ = (("length", ctypes.c_uint32), ("elements", ctypes.c_char_p))


_SPNEGO = Oid(6, b"\x2b\x06\x01\x05\x05\x02")


def token_for(host: str) -> bytes | None:
    """Return the first token for HTTP on that host; None if the caller has no ticket."""
    library = ctypes.CDLL(LIBRARY)
    minor, none, null = ctypes.c_uint32(), ctypes.c_uint32(0), ctypes.c_void_p()
    kind = ctypes.c_void_p.in_dll(library, "GSS_C_NT_HOSTBASED_SERVICE")
    service = f"HTTP@{host}".encode()
    text = Text(len(service), ctypes.cast(ctypes.c_char_p(service), ctypes.c_void_p))
    name, context, out = ctypes.c_void_p(), ctypes.c_void_p(), Text()
    library.gss_import_name(ctypes.byref(minor), ctypes.byref(text), kind, ctypes.byref(name))
    done = library.gss_init_sec_context(
        ctypes.byref(minor), null, ctypes.byref(context), name, ctypes.byref(_SPNEGO),
        ctypes.c_uint32(_MUTUAL), none, null, null, null, ctypes.byref(out), null, null,
    )  # fmt: skip
    token = ctypes.string_at(out.value, out.length) if out.value else b""
    library.gss_release_buffer(ctypes.byref(minor), ctypes.byref(out))
    library.gss_release_name(ctypes.byref(minor), ctypes.byref(name))
    library.gss_delete_sec_context(ctypes.byref(minor), ctypes.byref(context), null)
    return None if done & _FAILED else token


class HTTPSPNEGOAuth(AuthBase):
    """Sends a ticket with every request; without a ticket the server answers 401."""

    def __init__(self, mutual_authentication: int = DISABLED) -> None:
        assert mutual_authentication == OPTIONAL

    def __call__(self, request: requests.PreparedRequest) -> Any:
        token = token_for(str(urlsplit(str(request.url)).hostname))
        if token is not None:
            shown = base64.b64encode(token).decode()
            request.headers["Authorization"] = f"Negotiate {shown}"
        return request
