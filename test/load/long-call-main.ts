import { deepStrictEqual } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { serveHttpFace } from '@signalbox/worker';
import { startRawHttpServer } from '../support/mcp-host/raw-http-server.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectHttpFace } from '../support/worker/http-face.ts';
import { type Era, eras } from '../support/worker/mcp-client.ts';

/**
 * Calls that stay silent for longer than any connection waits by default: through the HTTP face, with an SDK client that asks for no
 * progress, to a server behind HTTP that sends nothing until its result is there. One call for each pair of eras, all at once. Exits with
 * an error if one of them ends otherwise.
 */
const { values } = parseArgs({ options: { minutes: { type: 'string' } } });
const minutes = Number(values.minutes ?? 11);
const callMs = minutes * 60_000;
const timeout = callMs + 60_000;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const startServer = (era: Era) =>
  startRawHttpServer(era, {
    dig: {
      call: async () => {
        await pause(callMs);
        return [{ result: { ...(era === 'modern' && { resultType: 'complete' }), ...answer(era) } }];
      },
    },
  });
const answer = (era: Era) => ({ content: [{ type: 'text', text: `dug by the ${era} server` }] });

await using legacy = await startServer('legacy');
await using modern = await startServer('modern');
await using stack = await startToolStack({
  counter: false,
  servers: { legacy: { type: 'http', url: legacy.url }, modern: { type: 'http', url: modern.url } },
});
await using face = await serveHttpFace({
  listen: { host: '127.0.0.1', port: 0 },
  connect: { url: stack.broker.url, timeoutMs: timeout },
  version: '1.2.3',
});
const token = await stack.broker.token('digger');
print(`${eras.length ** 2} calls of ${minutes} minutes, without a word until their results`);
await Promise.all(
  eras.flatMap((ours) =>
    eras.map(async (theirs) => {
      await using client = await connectHttpFace(face.url, token, ours);
      const startedAt = performance.now();
      const { content } = await client.call(`mcp_${theirs}__dig`, {}, { timeout });
      deepStrictEqual({ content }, answer(theirs));
      const took = ((performance.now() - startedAt) / 60_000).toFixed(2);
      print(`${ours} client, ${theirs} server: its result after ${took} minutes`);
    }),
  ),
);
for (const { received } of [legacy, modern]) {
  deepStrictEqual(received.filter(({ method }) => method === 'tools/call').length, eras.length);
}
print('each call ran once');
