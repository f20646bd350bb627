#!/usr/bin/env bash
# Two official servers answer each of several calls sent at once with success, and keep only some of them, often one: each call reads the
# file, changes what it read and writes all of it. In @modelcontextprotocol/server-memory 2026.8.31 that loses entities, in
# server-filesystem 2026.8.31 edits of one file, whose answers even show the diff. Many agent CLIs send the calls of one answer of their
# model at once.
#
# Seen on Linux with Node 24, by one client:
#   create_entities, 5 at once: 5 succeed, not all are in the graph
#   create_entities, 5 in turn: 5 succeed, all are in the graph
#   edit_file, 3 at once: 3 succeed, not all are in the file
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/{client@2.4.0,server-memory@2026.8.31,server-filesystem@2026.8.31} > /dev/null
cat > try.mjs <<'JS'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
async function start(name, args = [], env = {}) {
  const script = `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`;
  const client = new Client({ name: 'finding', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [script, ...args], env, stderr: 'ignore' }));
  return client;
}
const succeeded = (results) => results.filter(({ isError }) => !isError).length;
for (const how of ['at once', 'in turn']) {
  const memory = await start('memory', [], { MEMORY_FILE_PATH: `${process.cwd()}/${how}.jsonl` });
  const create = (name) =>
    memory.callTool({ name: 'create_entities', arguments: { entities: [{ name, entityType: 'letter', observations: [] }] } });
  const results = [];
  if (how === 'at once') results.push(...(await Promise.all([...'abcde'].map(create))));
  else for (const name of 'abcde') results.push(await create(name));
  const { structuredContent } = await memory.callTool({ name: 'read_graph', arguments: {} });
  const kept = structuredContent.entities.length === 5 ? 'all' : 'not all';
  console.log(`create_entities, 5 ${how}: ${succeeded(results)} succeed, ${kept} are in the graph`);
  await memory.close();
}
mkdirSync('files');
const folder = realpathSync('files');
const path = `${folder}/letters.txt`;
writeFileSync(path, 'a\nb\nc\n');
const files = await start('filesystem', [folder]);
const edit = (oldText) => files.callTool({ name: 'edit_file', arguments: { path, edits: [{ oldText, newText: oldText.toUpperCase() }] } });
const results = await Promise.all([...'abc'].map(edit));
const kept = readFileSync(path, 'utf8') === 'A\nB\nC\n' ? 'all' : 'not all';
console.log(`edit_file, 3 at once: ${succeeded(results)} succeed, ${kept} are in the file`);
await files.close();
JS
node try.mjs | tee seen
diff - seen <<'TXT'
create_entities, 5 at once: 5 succeed, not all are in the graph
create_entities, 5 in turn: 5 succeed, all are in the graph
edit_file, 3 at once: 3 succeed, not all are in the file
TXT
