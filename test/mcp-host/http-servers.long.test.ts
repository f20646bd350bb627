import { lastingPort } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { legacyServer, start } from '../support/mcp-host/http-servers.ts';
import { call } from '../support/mcp-host/test-host.ts';

it('gets a new session after a server of the 2025 revision was killed and started again', async () => {
  const port = await lastingPort();
  await using first = await legacyServer(port);
  await using host = start(`http://127.0.0.1:${port}/mcp`);
  await host.seen('server_ready');
  const name = 'mcp_web__trigger-long-running-operation';
  expect((await host.inventory()).tools.map((tool) => tool.name)).toContain(name);
  const onProgress = vi.fn();
  // This tool says it is idempotent, so the call would be made again.
  const options = { onProgress, repeatable: false };
  const running = call(host, name, { duration: 60, steps: 300 }, options);
  await vi.waitFor(() => expect(onProgress).toHaveBeenCalled());
  await first.kill();
  expect(await running).toMatchObject({ error: { code: 'outcome_unknown', may_have_run: true } });
  await using _second = await legacyServer(port);
  await host.seen('server_ready', {}, 2);
  expect(await call(host, 'mcp_web__get-sum', { a: 1, b: 1 })).toHaveProperty('result');
});
