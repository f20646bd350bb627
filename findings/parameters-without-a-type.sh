#!/usr/bin/env bash
# A tool of the official Python SDK (mcp 2.3.0) whose parameters have no annotation is listed as if they were strings, beside a default that
# is none, and nothing checks them. So what fits the schema may fail, and what works does not fit it: a client that checks arguments refuses
# the right call. fastmcp 4.0.10 lists the same function without types.
#
# Seen on Linux with Python 3.11, for def repeat(text, times=3): return text * times; the schemas, then calls and whether they fit that of mcp:
#   mcp: {"text":{"title":"text","type":"string"},"times":{"default":3,"title":"times","type":"string"}}
#   fastmcp: {"text":{},"times":{"default":3,"title":"Times"}}
#   {"text":"a"} fits: aaa
#   {"text":"a","times":"2"} fits: failed
#   {"text":"a","times":2} does not fit: aa
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 fastmcp==4.0.10 jsonschema 2> /dev/null
cat > try.py <<'PY'
import asyncio
import json
from fastmcp import FastMCP
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.server import MCPServer


def repeat(text, times=3):
    return text * times


def shown(value):
    return json.dumps(value, separators=(',', ':'))


async def schema_of(client):
    return (await client.list_tools()).tools[0].input_schema


async def main():
    server = MCPServer('server')
    server.tool()(repeat)
    other = FastMCP('other')
    other.tool(repeat)
    async with Client(server) as client:
        schema = await schema_of(client)
        print('mcp:', shown(schema['properties']))
        print('fastmcp:', shown((await other.list_tools())[0].parameters['properties']))
        for arguments in ({'text': 'a'}, {'text': 'a', 'times': '2'}, {'text': 'a', 'times': 2}):
            fits = 'fits' if Draft202012Validator(schema).is_valid(arguments) else 'does not fit'
            result = await client.call_tool('repeat', arguments)
            print(f'{shown(arguments)} {fits}: {"failed" if result.is_error else result.content[0].text}')


asyncio.run(main())
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
mcp: {"text":{"title":"text","type":"string"},"times":{"default":3,"title":"times","type":"string"}}
fastmcp: {"text":{},"times":{"default":3,"title":"Times"}}
{"text":"a"} fits: aaa
{"text":"a","times":"2"} fits: failed
{"text":"a","times":2} does not fit: aa
TXT
