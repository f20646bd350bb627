import { expect, it } from 'vitest';
import { serverThatKnows } from '../support/mcp-host/protocol.ts';
import { startTestHost } from '../support/mcp-host/test-host.ts';

it('takes silence for an older server', async () => {
  await using host = startTestHost({
    servers: { silent: serverThatKnows('silent', 'auto') },
    tuning: { startMs: 2_500 },
  });
  expect((await host.inventory()).tools).toMatchObject([{ name: 'mcp_silent__legacy' }]);
  expect(host.servers()).toMatchObject([{ restarts: 0 }]);
});
