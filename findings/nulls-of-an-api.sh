#!/usr/bin/env bash
# A server that fastmcp 4.0.10 (PyPI) makes of an OpenAPI document cannot send null. The tool's schema allows it, as the document does, and
# the request goes out without that field, or without a body if nothing else was in it. A PATCH that clears a field by null, as in JSON Merge
# Patch (RFC 7396), so changes nothing, and the API's answer to it is shown as the call's success. A null inside of an object is sent.
#
# Seen on Linux with Python 3.11, of a task whose fields "due" and "by" may be null; each line: the schema of due, then arguments and body:
#   {"type":["string","null"]}
#   {"due":null}: nothing
#   {"title":"a","due":null}: {"title":"a"}
#   {"by":{"name":null}}: {"by":{"name":null}}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.0.10 2> /dev/null
cat > try.py <<'PY'
import asyncio
import json

import httpx2
from fastmcp import Client, FastMCP

text = {'type': 'string'}
nullable = {'type': ['string', 'null']}
by = {'type': ['object', 'null'], 'properties': {'name': nullable}}
task = {'type': 'object', 'properties': {'title': text, 'due': nullable, 'by': by}}
change = {
    'operationId': 'change',
    'requestBody': {'required': True, 'content': {'application/json': {'schema': task}}},
    'responses': {'200': {'description': 'changed'}},
}
document = {'openapi': '3.1.0', 'info': {'title': 'tasks', 'version': '1'}, 'paths': {'/task': {'patch': change}}}
bodies = []


def answer(request):
    bodies.append(request.content.decode() or 'nothing')
    return httpx2.Response(200, json={})


def compact(value):
    return json.dumps(value, separators=(',', ':'))


async def main():
    api = httpx2.AsyncClient(base_url='http://localhost', transport=httpx2.MockTransport(answer))
    async with Client(FastMCP.from_openapi(document, client=api)) as client:
        [tool] = await client.list_tools()
        print(compact(tool.input_schema['properties']['due']))
        for arguments in ({'due': None}, {'title': 'a', 'due': None}, {'by': {'name': None}}):
            await client.call_tool('change', arguments)
            print(f'{compact(arguments)}: {bodies.pop()}')


asyncio.run(main())
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
{"type":["string","null"]}
{"due":null}: nothing
{"title":"a","due":null}: {"title":"a"}
{"by":{"name":null}}: {"by":{"name":null}}
TXT
