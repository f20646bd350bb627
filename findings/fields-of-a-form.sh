#!/usr/bin/env bash
# A client of fastmcp 4.0.10 (PyPI) hands a server's question to its callback with a class to fill in, made of the form. The answer has the
# names of that class: due-date comes back as due_date, which the server did not ask for, and from as from_. A field that was left empty
# comes back as null, which no field of a form may be. A server of the official SDK refuses both, so that a question which a person has
# answered rightly fails. A callback that returns a plain dict with the form's names works.
#
# Seen on Linux with Python 3.11 and Node 24, by a server of @modelcontextprotocol/sdk 1.32.2: form, the class's fields, what became of it:
#   {"title"}: title; accept
#   {"title","note"?}, note left empty: title, note; refused, content.note
#   {"due-date"}: due_date; refused, data must have required property 'due-date'
#   {"from"}: from_; refused, data must have required property 'from'
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 zod@4.6.7 > /dev/null
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.0.10 2> /dev/null
cat > server.mjs <<'JS'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
const server = new McpServer({ name: 'it', version: '1.0.0' });
const form = (required, ...optional) => {
  const properties = Object.fromEntries([...required, ...optional].map((name) => [name, { type: 'string' }]));
  return { type: 'object', properties, required };
};
const forms = {
  '{"title"}': form(['title']),
  '{"title","note"?}, note left empty': form(['title'], 'note'),
  '{"due-date"}': form(['due-date']),
  '{"from"}': form(['from']),
};
const told = ({ issues, message }) => (issues ? issues[0].path.join('.') : message.split(': ').at(-1));
server.registerTool('ask', {}, async () => {
  for (const [message, requestedSchema] of Object.entries(forms)) {
    const end = await server.server.elicitInput({ message, requestedSchema }).catch((error) => ({ action: `refused, ${told(error)}` }));
    answers.push(`${message}: ${end.action}`);
  }
  return { content: [{ type: 'text', text: answers.join('\n') }] };
});
const answers = [];
await server.connect(new StdioServerTransport());
JS
cat > try.py <<'PY'
import asyncio
import dataclasses

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

fields = {}


async def answer(message, response_type, params, context):
    names = [field.name for field in dataclasses.fields(response_type)]
    fields[message] = ', '.join(names)
    return response_type(**{names[0]: 'text'})


async def main():
    async with Client(StdioTransport('node', ['server.mjs']), elicitation_handler=answer) as client:
        for line in (await client.call_tool('ask')).content[0].text.splitlines():
            form, end = line.rsplit(': ', 1)
            print(f'{form}: {fields[form]}; {end}')


asyncio.run(main())
PY
venv/bin/python try.py 2> /dev/null | tee seen
diff - seen <<'TXT'
{"title"}: title; accept
{"title","note"?}, note left empty: title, note; refused, content.note
{"due-date"}: due_date; refused, data must have required property 'due-date'
{"from"}: from_; refused, data must have required property 'from'
TXT
