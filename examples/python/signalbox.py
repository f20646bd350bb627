"""A client of the Signalbox protocol, version 1 (docs/protocol/v1.md), for Python 3.11 and websockets 10 or newer.

One `Client` is one supervised connection. It connects again when the connection is lost, says hello again, takes its
inbox again if it had it, and sends again what had no receipt. Bodies are JSON values.
"""

import asyncio
import contextlib
import json
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import websockets

SUBPROTOCOL = "signalbox.v1"
#: Close codes after which the same hello would be refused again (section 8).
FINAL_CLOSE_CODES = {1000, 4400, 4401, 4403, 4406}
#: Codes of errors that answer the hello; the connection closes after them.
FINAL_HELLO_ERRORS = {"bad_hello", "unauthorized", "forged_sender", "unsupported_protocol"}
REQUEST_KINDS = {"ask", "task", "mcp_request"}


class SignalboxError(Exception):
    """What the broker refused, by its code (section 8). `retryable` says whether the same may succeed later."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, retry_after_ms: float = 0):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms


class Undeliverable(Exception):
    """A request ended without an answer. `reason` is one of section 6, rule 9."""

    def __init__(self, reason: str, *, may_have_run: bool, detail: str | None = None):
        super().__init__(f"{reason}{f': {detail}' if detail else ''}")
        self.reason = reason
        self.may_have_run = may_have_run


@dataclass
class Message:
    """A message that was pushed. The broker attests the sender; everything in the body is only a claim."""

    header: dict[str, Any]
    body: Any

    @property
    def id(self) -> str:
        return self.header["id"]

    @property
    def kind(self) -> str:
        return self.header["kind"]

    @property
    def sender(self) -> str:
        return self.header["from"]["agent"]

    @property
    def attempt(self) -> int:
        """From 2 on, an earlier try failed and may have done part of the work."""
        return self.header.get("attempt", 1)


#: Handles a message. What it returns is the reply to a request. If it raises, the message is handed out again.
Handler = Callable[[Message], Awaitable[Any]]


def encode(header: dict[str, Any], body: str | None = None) -> str:
    """Writes one frame: a header line, and the body line if there is a body (section 1)."""
    if body is None:
        return json.dumps(header) + "\n"
    return json.dumps({**header, "body": True}) + "\n" + body + "\n"


def decode(text: str) -> list[tuple[dict[str, Any], Any]]:
    """Reads the frames of one WebSocket message."""
    frames = []
    lines = iter(text.split("\n"))
    for line in lines:
        if line:
            header = json.loads(line)
            frames.append((header, json.loads(next(lines)) if header.get("body") is True else None))
    return frames


def token_in(path: str) -> str:
    """Reads a token from a file that `signalbox token issue --out` wrote: it is the first line."""
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()


def agent_of(token: str) -> str:
    """Returns the agent id that a token of Signalbox names."""
    return token.removeprefix("sbx_").partition("~")[0]


@dataclass
class _Delivery:
    """A frame that waits for its receipt."""

    frame: str
    receipt: asyncio.Future
    broker_id: str | None = None


@dataclass
class Client:
    """A connection of one agent. Use `connect`.

    `address` is the agent's id, or `agent#sub` for a sub-inbox. A client that only asks takes one of its own, so that
    two of the same agent don't take each other's replies.
    """

    url: str
    token: str
    address: str
    welcome: dict[str, Any] = field(default_factory=dict)
    _socket: Any = None
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _failed: Exception | None = None
    _handler: Handler | None = None
    _kinds: set[str] = field(default_factory=set)
    _is_subscribed: bool = False
    _answers: dict[str, asyncio.Future] = field(default_factory=dict)
    _deliveries: dict[str, _Delivery] = field(default_factory=dict)
    _replies: dict[str, asyncio.Future] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task] = field(default_factory=dict)

    async def deliver(self, to: str, kind: str, body: Any, **header: Any) -> dict[str, Any]:
        """Sends a message and returns its receipt: the message is on disk. Raises `SignalboxError`.

        It is sent again under the same id after a lost connection, as long as the same broker answers.
        """
        id = header.pop("id", None) or new_id()
        frame = encode({"type": "deliver", "to": to, "id": id, "kind": kind, **header}, json.dumps(body))
        delivery = _Delivery(frame, asyncio.get_running_loop().create_future())
        self._deliveries[id] = delivery
        try:
            if self._failed:
                raise self._failed
            if self._ready.is_set():
                await self._send_delivery(delivery)
            return await delivery.receipt
        finally:
            self._deliveries.pop(id, None)

    async def ask(self, to: str, body: Any, *, timeout: float = 60, kind: str = "ask", **header: Any) -> Message:
        """Sends a request and returns the reply. Raises `SignalboxError`, `Undeliverable` or `TimeoutError`."""
        await self.subscribe()
        id = new_id()
        reply = asyncio.get_running_loop().create_future()
        self._replies[id] = reply
        try:
            async with asyncio.timeout(timeout):
                ttl_ms = int(timeout * 1000)
                # A reply may come before the receipt of its request (section 6, rule 1).
                await self.deliver(to, kind, body, id=id, ttl_ms=ttl_ms, **header)
                return await reply
        except (TimeoutError, asyncio.CancelledError):
            with contextlib.suppress(websockets.ConnectionClosed):
                await self._send(encode({"type": "cancel", "to": to, "correlation_id": id}))
            raise
        finally:
            self._replies.pop(id, None)

    async def serve(self, handler: Handler, kinds: set[str] | None = None) -> None:
        """Hands messages of these kinds to the handler, and returns when the inbox is held.

        The reply to a request acks it in the commit that stores it. Any other message is acked when it was handled.
        """
        self._handler = handler
        self._kinds = kinds or {"ask", "task", "note"}
        await self.subscribe()

    async def subscribe(self) -> None:
        """Takes the lease of the inbox, and takes it again after a lost connection."""
        if not self._is_subscribed:
            self._is_subscribed = True
            await self.request({"type": "subscribe"})

    async def request(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Sends a frame with a new `request_id` and returns its answer. Raises `SignalboxError`."""
        await self._ready.wait()
        if self._failed:
            raise self._failed
        request_id = new_id()
        answer = asyncio.get_running_loop().create_future()
        self._answers[request_id] = answer
        try:
            await self._send(encode({**frame, "request_id": request_id}))
            return await answer
        finally:
            self._answers.pop(request_id, None)

    async def run(self) -> None:
        """Keeps the connection up until the task is cancelled or the broker refuses the hello for good."""
        failures = 0
        while True:
            try:
                async with open_socket(self.url) as self._socket:
                    await self._hello()
                    failures = 0
                    async for text in self._socket:
                        for header, body in decode(text):
                            await self._handle(header, body)
                    code = self._socket.close_code
            except websockets.ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
            except SignalboxError as refused:
                if refused.code in FINAL_HELLO_ERRORS:
                    return self._fail(refused)
                code = 1006
            except (OSError, websockets.InvalidHandshake):
                code = 1006
            self._lost()
            if code in FINAL_CLOSE_CODES:
                return self._fail(SignalboxError("closed", f"the broker closed the connection with {code}"))
            failures += 1
            await asyncio.sleep(random.random() * min(5, 0.1 * 2**failures))

    async def _hello(self) -> None:
        hello = {"type": "hello", "agent": self.address, "token": self.token, "protocol": 1}
        await self._send(encode(hello))
        (answer, _), *others = decode(await self._socket.recv())
        if answer["type"] == "error":
            raise error_of(answer)
        self.welcome = answer
        for header, body in others:
            await self._handle(header, body)
        if self._is_subscribed:
            await self._send(encode({"type": "subscribe", "request_id": new_id()}))
        self._ready.set()
        for delivery in list(self._deliveries.values()):
            await self._send_delivery(delivery)

    async def _send_delivery(self, delivery: _Delivery) -> None:
        """Another broker, such as a restored one, may not know that a request has run (section 6, rule 16)."""
        broker_id = self.welcome["broker_id"]
        if delivery.broker_id not in (None, broker_id):
            lost = SignalboxError("other_broker", "another broker answers now; nobody knows what became of it")
            return resolve(delivery.receipt, error=lost)
        delivery.broker_id = broker_id
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._send(delivery.frame)

    async def _send(self, text: str) -> None:
        await self._socket.send(text)

    async def _handle(self, header: dict[str, Any], body: Any) -> None:
        match header["type"]:
            case "delivered":
                if delivery := self._deliveries.get(header["id"]):
                    resolve(delivery.receipt, header)
            case "error":
                delivery = self._deliveries.get(header.get("id", ""))
                answer = delivery.receipt if delivery else self._answers.get(header.get("request_id", ""))
                if answer:
                    resolve(answer, error=error_of(header))
            case "message":
                await self._take(Message(header, body))
            case "cancel":
                if task := self._tasks.get(header["correlation_id"]):
                    task.cancel()
            case "lease_lost":
                # A newer holder of the inbox gets the messages. What is under way settles nothing any more.
                self._is_subscribed = False
                self._cancel_work()
            case _:
                if answer := self._answers.get(header.get("request_id", "")):
                    resolve(answer, header)

    async def _take(self, message: Message) -> None:
        if message.kind in ("reply", "mcp_reply", "undeliverable"):
            if reply := self._replies.get(message.header.get("correlation_id", "")):
                if message.kind == "undeliverable":
                    resolve(reply, error=undeliverable_of(message.body))
                else:
                    resolve(reply, message)
            # A reply that nobody waits for any more is acked too, or it would come again.
            await self._send(encode({"type": "ack", "seqs": [message.header["seq"]]}))
        elif self._handler and message.kind in self._kinds:
            task = asyncio.create_task(self._work(self._handler, message))
            self._tasks[message.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(message.id, None))
        elif "seq" in message.header:
            reason = f"this agent does not handle messages of kind '{message.kind}'"
            await self._send(encode({"type": "nack", "seqs": [message.header["seq"]], "dead": True, "reason": reason}))

    async def _work(self, handler: Handler, message: Message) -> None:
        seq = message.header["seq"]
        with contextlib.suppress(websockets.ConnectionClosed):
            await self._send(encode({"type": "working", "seqs": [seq]}))
            try:
                answer = await handler(message)
            except asyncio.CancelledError:
                return  # Cancelled by its sender, or this program ends: nobody waits for an answer.
            except Exception as failure:
                nack = {"type": "nack", "seqs": [seq], "delay_ms": 200 * message.attempt, "reason": str(failure)[:500]}
                return await self._send(encode(nack))
            if message.kind not in REQUEST_KINDS:
                return await self._send(encode({"type": "ack", "seqs": [seq]}))
            # The id comes from the request's: if the reply is sent twice, it is stored once.
            reply = {"id": f"re:{message.id}", "correlation_id": message.id, "settles": seq}
            with contextlib.suppress(SignalboxError):  # such as already_answered: the request has its end.
                await self.deliver(message.header["from"]["address"], "reply", answer, **reply)

    def _lost(self) -> None:
        """What the connection had is void: messages come again, answers never do."""
        self._ready.clear()
        self._cancel_work()
        lost = SignalboxError("disconnected", "the connection was lost before the answer came", retryable=True)
        for answer in list(self._answers.values()):
            resolve(answer, error=lost)

    def _cancel_work(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def _fail(self, failure: SignalboxError) -> None:
        self._failed = failure
        self._ready.set()
        waiting = [delivery.receipt for delivery in self._deliveries.values()]
        for future in [*waiting, *self._answers.values(), *self._replies.values()]:
            resolve(future, error=failure)


@contextlib.asynccontextmanager
async def connect(url: str, token: str, address: str | None = None) -> AsyncIterator[Client]:
    """Connects, and yields a client that stays connected until the block is left. Raises `SignalboxError`."""
    client = Client(url, token, address or agent_of(token))
    running = asyncio.create_task(client.run())
    try:
        await client._ready.wait()
        if client._failed:
            raise client._failed
        yield client
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def open_socket(url: str) -> Any:
    """Opens a WebSocket over TCP, or over a Unix socket (`unix:/absolute/path`)."""
    options = {"subprotocols": [SUBPROTOCOL], "compression": None, "max_size": None}
    if url.startswith("unix:"):
        return websockets.unix_connect(url.removeprefix("unix:"), "ws://localhost/", **options)
    return websockets.connect(url, **options)


def new_id() -> str:
    return secrets.token_urlsafe(16)


def resolve(future: asyncio.Future, value: Any = None, *, error: Exception | None = None) -> None:
    if future.done():
        return
    if error:
        future.set_exception(error)
    else:
        future.set_result(value)


def error_of(header: dict[str, Any]) -> SignalboxError:
    return SignalboxError(
        header["code"],
        header["message"],
        retryable=header["retryable"],
        retry_after_ms=header.get("retry_after_ms", 0),
    )


def undeliverable_of(body: dict[str, Any]) -> Undeliverable:
    return Undeliverable(body["reason"], may_have_run=body["may_have_run"], detail=body.get("detail"))
