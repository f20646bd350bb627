"""Two agents in Python: one answers, the other sends and asks. See README.md beside this file."""

import asyncio
import os
import secrets
import sys

from signalbox import Message, SignalboxError, Undeliverable, connect, token_in


async def answer(message: Message) -> object:
    """Answers questions about sums. An answer that can never be right is a reply, and no failure."""
    if message.kind == "note":
        print(f"walt got a note of {message.sender}: {message.body['text']}")
        return None
    if message.body == "fail":
        raise ValueError("told to fail")
    return {"sum": sum(message.body["add"]), "asked_by": message.sender}


async def main() -> int:
    url = os.environ["SIGNALBOX_URL"]
    walt_token, rosa_token = (token_in(os.environ[f"{name}_TOKEN_FILE"]) for name in ("WALT", "ROSA"))
    async with (
        connect(url, walt_token) as walt,
        connect(url, rosa_token, f"rosa#py-{secrets.token_hex(4)}") as rosa,
    ):
        await walt.serve(answer)
        receipt = await rosa.deliver("walt", "note", {"text": "hello"})
        is_duplicate = receipt.get("duplicate", False)
        print(f"the note has its receipt ({rosa.welcome['receipt_means']}), duplicate: {is_duplicate}")
        reply = await rosa.ask("walt", {"add": [19, 23]}, timeout=30)
        print(f"walt answered {reply.body['sum']}; the broker says that {reply.sender} sent it")
        try:
            await rosa.deliver("wlat", "note", {"text": "hello"})
        except SignalboxError as refused:
            print(f"a name that nobody has is refused: {refused.code}")
        try:
            await rosa.ask("walt", "fail", timeout=30)
        except Undeliverable as ended:
            print(f"what fails five times ends as undeliverable: {ended.reason}, may have run: {ended.may_have_run}")
    return 0 if reply.body == {"sum": 42, "asked_by": "rosa"} and reply.sender == "walt" else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
