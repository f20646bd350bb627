import { fileURLToPath } from 'node:url';
import { programOptions } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startTestHost } from '../support/mcp-host/test-host.ts';
import { startHttpFaceStack } from '../support/worker/http-face.ts';

const faceMain = fileURLToPath(new URL('../support/worker/face-main.ts', import.meta.url));

test('a worker of Signalbox is refused at its handshake, on stdio and over HTTP, in either revision, and not started again', async () => {
  await using face = await startHttpFaceStack();
  const { broker } = face.stack;
  const args = [...programOptions(), faceMain, broker.url, await broker.token('w1'), 'w1'];
  const headers = { authorization: `Bearer ${await broker.token('w2')}` };
  const http = { type: 'http', url: face.face.url, headers } as const;
  await using host = startTestHost({
    servers: {
      stdio: { type: 'stdio', command: process.execPath, args, protocol: 'auto' },
      legacy: { ...http, protocol: 'legacy' },
      auto: { ...http, protocol: 'auto' },
    },
  });
  const { tools, problems } = await host.inventory();
  expect(tools).toEqual([]);
  const reason =
    'it is a worker of Signalbox, whose tools would come back here as new ones; remove it from mcpServers';
  expect(problems).toEqual(
    host
      .servers()
      .map(({ name }) => ({ server: name, message: `not available: it is not served: ${reason}` })),
  );
  for (const server of host.servers())
    expect(server).toMatchObject({ state: 'refused', restarts: 0, pids: [], lastError: reason });
  const names = host.events.map(({ event }) => event);
  expect(names.filter((name) => name === 'server_refused')).toHaveLength(3);
  expect(names).not.toContain('server_backing_off');
});
