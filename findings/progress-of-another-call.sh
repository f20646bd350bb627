#!/usr/bin/env bash
# A tool of mcp-framework 0.2.22 reports progress with reportProgress() and asks abortSignal whether its call was cancelled. Both belong to the
# tool and not to the call: of two calls at once the later one gets the progress of both, and when it has ended nobody gets any more. And a
# cancellation never arrives, of a single call either: the framework puts a handler of its own in the place of the SDK's, which looks for the
# call in a list that nothing is written to. So a call that its caller has given up runs to its end.
#
# Seen on Linux with Node 24, for calls that report six and three steps, and one of six steps that is cancelled at its second:
#   A alone: A1 A2 A3 A4 A5 A6
#   A beside B: no more than A1
#   B beside A: all of B, some of A
#   the last of A: lost
#   C, cancelled: ran to step 6
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --prefer-offline --no-audit --no-fund mcp-framework@0.2.22 zod@3.25.76 @modelcontextprotocol/{sdk@1.32.2,client@2.4.0} > /dev/null
mkdir dist
cat > server.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { MCPServer, MCPTool } from 'mcp-framework';
import { z } from 'zod';
class Count extends MCPTool {
  name = 'count';
  description = 'Counts.';
  schema = z.object({ name: z.string().describe('Who counts.'), steps: z.number().describe('How far.') });
  async execute({ name, steps }) {
    for (let step = 1; step <= steps && !this.abortSignal?.aborted; step++) {
      writeFileSync(name, `${step}`);
      await this.reportProgress(step, steps, `${name}${step}`);
      await setTimeout(100);
    }
    writeFileSync(`${name} ended`, '');
    return name;
  }
}
const server = new MCPServer({ name: 'it', version: '1.0.0', basePath: `${process.cwd()}/dist` });
server.addTool(Count);
await server.start();
JS
cat > try.mjs <<'JS'
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
const client = new Client({ name: 'finding', version: '1.0.0' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: ['server.mjs'], stderr: 'ignore' }));
async function count(name, steps, atStep, signal) {
  const seen = [];
  const onprogress = ({ message }) => {
    seen.push(message);
    atStep?.(seen.length);
  };
  await client.callTool({ name: 'count', arguments: { name, steps } }, { onprogress, signal }).catch(() => {});
  return seen;
}
console.log('A alone:', (await count('A', 6)).join(' '));
const [a, b] = await Promise.all([count('A', 6), count('B', 3)]);
console.log(`A beside B: ${a.some((step) => step > 'A1') ? 'more than' : 'no more than'} A1`);
const all = ['B1', 'B2', 'B3'].every((step) => b.includes(step)) ? 'all of B' : b.join(' ');
console.log(`B beside A: ${all}, ${b.some((step) => step.startsWith('A')) ? 'some' : 'none'} of A`);
console.log(`the last of A: ${[...a, ...b].includes('A6') ? 'arrived' : 'lost'}`);
const stop = new AbortController();
await count('C', 6, (step) => step === 2 && stop.abort(), stop.signal);
for (let waited = 0; !existsSync('C ended') && waited < 100; waited++) await setTimeout(100);
console.log(`C, cancelled: ran to step ${readFileSync('C', 'utf8')}`);
process.exit(0);
JS
node try.mjs 2> /dev/null | tee seen
diff - seen <<'TXT'
A alone: A1 A2 A3 A4 A5 A6
A beside B: no more than A1
B beside A: all of B, some of A
the last of A: lost
C, cancelled: ran to step 6
TXT
