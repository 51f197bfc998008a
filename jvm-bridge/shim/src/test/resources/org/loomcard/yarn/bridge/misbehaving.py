"""A policy process that does its job until a file makes it misbehave: one word of MISDEEDS."""

import argparse
import os
import sys
import time
from pathlib import Path

import msgspec

from loomcard.bridge import gateway, limits
from loomcard.bridge.process import (PolicyService, compile_request, wait_for_end_of_input, write_ready)
from loomcard.engine.session import Session


def late(reply: str) -> str:
    """Answer later than the soft deadline of the test that uses it, which is 3 s."""
    time.sleep(3.5)
    return reply


def gated(reply: str) -> str:
    """Answer only when the test allows it."""
    while not options.orders.with_suffix(".gate").exists():
        time.sleep(0.005)
    return reply


def wake(reply: str) -> str:
    """Ask to be woken in 50 ms."""
    plan = msgspec.json.decode(reply)
    plan[3] = [[1, now_ms() + 50]]
    return msgspec.json.encode(plan).decode()


def save(reply: str) -> str:
    """Save something."""
    plan = msgspec.json.decode(reply)
    plan[6] = {"root.default:fifo": {"learnt": 7}}
    return msgspec.json.encode(plan).decode()


def die(reply: str) -> str:
    os._exit(3)


def flood(reply: str) -> str:
    """Print 200 MB without a line's end."""
    for _ in range(200):
        sys.stdout.write("x" * (1 << 20))
    sys.stdout.flush()
    return reply


def glutton(reply: str) -> str:
    """Request 8 GB of memory."""
    kept = [bytearray(1 << 20) for _ in range(8192)]
    return reply + str(len(kept))


MISDEEDS = {
    "flood": flood,
    "glutton": glutton,
    "huge": lambda reply: reply[:-1] + " " * (3 << 20) + "]",
    "garbage": lambda reply: "\x00 not a plan",
    "error": lambda reply: '["error","MemoryError: "]',
    "round": lambda reply: '["plan",0,[],[],[],{},{},[],[],[],null,[]]',
    "schema": lambda reply: '["hello",9,"3.11","9.9.9",[]]',
    "fault": lambda reply: reply.replace(
        ",[],[],[],null,[]]", ',[[1,"ValueError: no","Traceback"]],[],[],null,[]]'
    ),
    "late": late,
    "gated": gated,
    "die": die,
    "wake": wake,
    "save": save,
}


last = {"now_ms": 0}


def now_ms() -> int:
    """Return the time of the present batch."""
    return last["now_ms"]


class Wayward:
    def __init__(self, orders: Path) -> None:
        self.service = PolicyService(Session, compile_request)
        self.orders = orders

    def decide(self, text: str) -> str:
        if text.startswith('["batch"'):
            last["now_ms"] = msgspec.json.decode(text)[3]
        for heard in ('["timer",', '"learnt":7'):
            if heard in text:
                with self.orders.with_suffix(".heard").open("a") as file:
                    file.write(heard + "\n")
        reply = self.service.decide(text)
        order = self.orders.read_text().strip() if self.orders.exists() else ""
        if order.endswith(" once"):
            order = order.removesuffix(" once")
            self.orders.unlink()
        wanted = "hello" if order == "schema" else "batch"
        return MISDEEDS[order](reply) if order and text.startswith(f'["{wanted}"') else reply

    def lastFailure(self) -> str:
        return self.service.lastFailure() or "the misbehaving process's own words"


parser = argparse.ArgumentParser()
parser.add_argument("orders", type=Path)
parser.add_argument("--ready-file", type=Path)
parser.add_argument("--secret-file", type=Path)
options = parser.parse_args()
limits.apply()
server = gateway.serve(Wayward(options.orders), gateway.read_secret(options.secret_file))
write_ready(options.ready_file, server.port)
print("misbehaving, but ready", file=sys.stderr)
wait_for_end_of_input()
os._exit(0)
