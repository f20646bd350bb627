#!/usr/bin/env bash
# The client of fastmcp 4.0.10 (PyPI) gives the data of a result as objects, made by the tool's outputSchema. What is in them is not what the
# server sent: a field that is absent has the default of the schema, where JSON Schema has a default change nothing; a field that the schema
# does not name, which it allows, is gone, in lists too; an address is written anew, so that it is another text. Only structured_content,
# beside the objects, has what was sent.
#
# Seen on Linux with Python 3.11: structured_content, and data:
#   {"url": "HTTPS://Example.org", "jobs": [{"id": 1, "state": "failed"}], "error": "disk full"}
#   {"retries": 3, "url": "https://example.org/", "jobs": [{"id": 1}]}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.0.10 2> /dev/null
cat > try.py <<'PY'
import asyncio
import dataclasses
import json

from fastmcp import Client, FastMCP
from fastmcp.tools import ToolResult

job = {'type': 'object', 'properties': {'id': {'type': 'integer'}}}
properties = {
    'retries': {'type': 'integer', 'default': 3},
    'url': {'type': 'string', 'format': 'uri'},
    'jobs': {'type': 'array', 'items': job},
}
server = FastMCP('server')


@server.tool(output_schema={'type': 'object', 'properties': properties})
def status() -> ToolResult:
    sent = {'url': 'HTTPS://Example.org', 'jobs': [{'id': 1, 'state': 'failed'}], 'error': 'disk full'}
    return ToolResult(structured_content=sent)


async def main():
    async with Client(server) as client:
        result = await client.call_tool('status')
        print(json.dumps(result.structured_content))
        print(json.dumps(dataclasses.asdict(result.data), default=str))


asyncio.run(main())
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
{"url": "HTTPS://Example.org", "jobs": [{"id": 1, "state": "failed"}], "error": "disk full"}
{"retries": 3, "url": "https://example.org/", "jobs": [{"id": 1}]}
TXT
