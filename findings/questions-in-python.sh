#!/usr/bin/env bash
# In the official Python SDK (mcp 2.3.0) a tool that asks its user with ctx.elicit() fails, if the client is that of the same SDK and both
# have their defaults: they agree on revision 2026-07-28, which has no requests from servers, and elicit() does not become the question of
# that revision (input_required). The client's callback for questions is never called; with mode='legacy' the same tool works.
#
# Seen on Linux with Python 3.11: the client's mode, the revision, what comes of the tool's question, how often the client was asked:
#   auto 2026-07-28: NoBackChannelError, asked 0
#   legacy 2025-11-25: accept, asked 1
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 2> /dev/null
cat > try.py <<'PY'
import asyncio
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ElicitResult
from pydantic import BaseModel

server = MCPServer('server')


class Answer(BaseModel):
    sure: bool


@server.tool()
async def ask(ctx: Context) -> str:
    return (await ctx.elicit('Sure?', Answer)).action


async def main():
    for mode in ('auto', 'legacy'):
        asked = []

        async def answer(context, params):
            asked.append(params)
            return ElicitResult(action='accept', content={'sure': True})

        async with Client(server, mode=mode, elicitation_callback=answer) as client:
            try:
                told = (await client.call_tool('ask')).content[0].text
            except Exception as error:
                told = type(error).__name__
            print(f'{mode} {client.protocol_version}: {told}, asked {len(asked)}')


asyncio.run(main())
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
auto 2026-07-28: NoBackChannelError, asked 0
legacy 2025-11-25: accept, asked 1
TXT
