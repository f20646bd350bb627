#!/usr/bin/env bash
# A server that fastmcp 4.0.10 (PyPI) makes of an OpenAPI document writes some parameters otherwise than the document says, or not at all. A
# list in a path becomes the text that Python prints of it; an object that a query has as JSON is taken apart, so that its own name is gone,
# and an API that ignores unknown names answers as if there were no filter; a header that is a number or a boolean makes its calls fail.
#
# Seen on Linux with Python 3.11: parameter in the document, argument, what OpenAPI 3.1 has for it, what comes of the call:
#   path, list: ["a","b"]: /of/a,b; /of/%5B%27a%27%2C%20%27b%27%5D
#   query, application/json: {"done":true}: /of?it=%7B%22done%22%3Atrue%7D; /of?done=true
#   header, text: "7": header it=7; header it=7
#   header, integer: 7: header it=7; Header value must be str or bytes, not <class 'int'>
#   header, boolean: true: header it=true; Header value must be str or bytes, not <class 'bool'>
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

sent = []


def answer(request):
    header = request.headers.get('it')
    sent.append(f'header it={header}' if header else request.url.raw_path.decode())
    return httpx2.Response(200, json={})


def typed(name):
    return {'schema': {'type': name}}


as_json = {'content': {'application/json': typed('object')}}
strings = {'schema': {'type': 'array', 'items': {'type': 'string'}}}
cases = [
    ('path, list', 'path', strings, ['a', 'b'], '/of/a,b'),
    ('query, application/json', 'query', as_json, {'done': True}, '/of?it=%7B%22done%22%3Atrue%7D'),
    ('header, text', 'header', typed('string'), '7', 'header it=7'),
    ('header, integer', 'header', typed('integer'), 7, 'header it=7'),
    ('header, boolean', 'header', typed('boolean'), True, 'header it=true'),
]


async def main():
    for label, place, form, argument, expected in cases:
        parameter = {'name': 'it', 'in': place, 'required': True, **form}
        get = {'operationId': 'get', 'parameters': [parameter], 'responses': {'200': {'description': 'got'}}}
        paths = {'/of/{it}' if place == 'path' else '/of': {'get': get}}
        document = {'openapi': '3.1.0', 'info': {'title': 'api', 'version': '1'}, 'paths': paths}
        api = httpx2.AsyncClient(base_url='http://localhost', transport=httpx2.MockTransport(answer))
        async with Client(FastMCP.from_openapi(document, client=api)) as client:
            result = await client.call_tool('get', {'it': argument}, raise_on_error=False)
            came = result.content[0].text.split('TypeError: ')[-1] if result.is_error else sent.pop()
            print(f'{label}: {json.dumps(argument, separators=(",", ":"))}: {expected}; {came}')


asyncio.run(main())
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
path, list: ["a","b"]: /of/a,b; /of/%5B%27a%27%2C%20%27b%27%5D
query, application/json: {"done":true}: /of?it=%7B%22done%22%3Atrue%7D; /of?done=true
header, text: "7": header it=7; header it=7
header, integer: 7: header it=7; Header value must be str or bytes, not <class 'int'>
header, boolean: true: header it=true; Header value must be str or bytes, not <class 'bool'>
TXT
