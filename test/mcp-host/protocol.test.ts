import { expect, it } from 'vitest';
import { serverThatKnows } from '../support/mcp-host/protocol.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

it('takes silence for an older server', async () => {
  await using host = startTestHost({
    servers: { silent: serverThatKnows('silent', 'auto') },
    tuning: { startMs: 2_500 },
  });
  expect((await host.inventory()).tools).toMatchObject([{ name: 'mcp_silent__legacy' }]);
  expect(host.servers()).toMatchObject([{ restarts: 0 }]);
});

it('asks a server that refuses the older revisions in the current one, unless its configuration says legacy', async () => {
  await using host = startTestHost({
    servers: { newer: serverThatKnows('modern'), bound: serverThatKnows('modern', 'legacy') },
  });
  expect((await host.inventory()).tools).toMatchObject([{ name: 'mcp_newer__modern' }]);
  await call(host, 'mcp_newer__modern', { exit: true });
  await host.seen('server_ready', { server: 'newer' }, 2);
  expect(await call(host, 'mcp_newer__modern')).toHaveProperty('result');
});
