import { expect, it } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { floodingServer } from '../support/mcp-host/test-servers.ts';

it('calls of a server that reads nothing more are refused when 32 MiB wait for it', async () => {
  await using host = startTestHost({
    servers: { deaf: floodingServer() },
    tuning: { inputEndMs: 50, terminateMs: 50 },
  });
  await host.inventory();
  expect(await call(host, 'mcp_deaf__deafen')).toHaveProperty('result');
  const text = 'x'.repeat(4 * 1024 * 1024);
  const outcomes = await Promise.all(
    Array.from({ length: 14 }, () => call(host, 'mcp_deaf__note', { text }, { timeoutMs: 1_000 })),
  );
  const codes = outcomes.map((outcome) => ('error' in outcome ? outcome.error.code : 'ok'));
  expect(codes.filter((code) => code === 'outcome_unknown').length).toBeLessThanOrEqual(10);
  expect(codes.filter((code) => code === 'mcp_server_unreachable').length).toBeGreaterThanOrEqual(4);
  expect(outcomes.at(-1)).toMatchObject({
    error: {
      may_have_run: false,
      cause_chain: expect.arrayContaining([expect.stringContaining('the server does not read its input')]),
    },
  });
});
