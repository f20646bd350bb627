#!/usr/bin/env bash
# An operation of an OpenAPI document that answers with text/plain becomes a tool of fastmcp 4.0.10 (PyPI) whose outputSchema promises an
# object {"result": string}, and whose result has only the text. MCP wants data that fit an outputSchema, so the client of the Python SDK (mcp
# 2.3.0), which is also that of fastmcp, refuses the result: the request has reached the API, here a POST, and its caller gets an exception,
# every time. An answer with JSON in it works.
#
# Seen on Linux with Python 3.11: the answer's type, what comes of the call, how many requests the API got:
#   application/json: {'result': 'done'}, 1
#   text/plain: Tool begin has an output schema but did not return structured content, 1
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.0.10 mcp==2.3.0 2> /dev/null
cat > try.py <<'PY'
import asyncio

import httpx2
from fastmcp import Client, FastMCP

answers = {'application/json': '"done"', 'text/plain': 'done'}


async def called(kind):
    content = {kind: {'schema': {'type': 'string'}}}
    begin = {'operationId': 'begin', 'responses': {'200': {'description': 'begun', 'content': content}}}
    document = {'openapi': '3.1.0', 'info': {'title': 'jobs', 'version': '1'}, 'paths': {'/jobs': {'post': begin}}}
    requests = []

    def answer(request):
        requests.append(request)
        return httpx2.Response(200, text=answers[kind], headers={'content-type': kind})

    api = httpx2.AsyncClient(base_url='http://localhost', transport=httpx2.MockTransport(answer))
    async with Client(FastMCP.from_openapi(document, client=api)) as client:
        try:
            told = (await client.call_tool('begin')).structured_content
        except Exception as error:
            told = error
    print(f'{kind}: {told}, {len(requests)}')


for kind in answers:
    asyncio.run(called(kind))
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
application/json: {'result': 'done'}, 1
text/plain: Tool begin has an output schema but did not return structured content, 1
TXT
