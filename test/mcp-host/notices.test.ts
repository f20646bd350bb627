import { counterServer, tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { endless, startBombEndpoint } from '../support/mcp-host/bomb-endpoint.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { floodingServer } from '../support/mcp-host/test-servers.ts';

const answerToNothing = JSON.stringify({ jsonrpc: '2.0', id: 2_000_000_000, result: {} });

it('servers that flood with notices are read at a rate, and calls of other servers are served meanwhile', async () => {
  await using directory = await tempDir();
  const event = `data: ${answerToNothing}\n\n`.repeat(500);
  await using endpoint = await startBombEndpoint({ firstStream: endless('text/event-stream', event) });
  // The clock stands still, so that a flood gets its burst, and then one notice each time that it is looked at again.
  await using host = startTestHost({
    now: () => 0,
    tuning: { inputEndMs: 50, terminateMs: 50 },
    servers: {
      honest: counterServer(`${directory.path}/counter.jsonl`),
      garbage: floodingServer(),
      progress: floodingServer(),
      answers: floodingServer(),
      web: { type: 'http', protocol: 'legacy', url: endpoint.url },
    },
  });
  await host.inventory();
  let reports = 0;
  const onProgress = () => {
    reports++;
  };
  const floods = [
    call(host, 'mcp_progress__flood', { kind: 'progress' }, { onProgress }),
    call(host, 'mcp_answers__flood', { kind: 'answers to nothing' }),
    call(host, 'mcp_garbage__flood', { kind: 'lines that are no messages' }),
  ];
  const noise = (server: string) =>
    host.events.filter((one) => one.event === 'server_noise' && one.server === server).length;
  await expect
    .poll(() => Math.min(reports, noise('answers'), noise('web')), { timeout: 10_000 })
    .toBeGreaterThan(200);
  const late = call(host, 'mcp_answers__note');
  for (let n = 0; n < 100; n++) expect(await call(host, 'mcp_honest__echo', { n })).toHaveProperty('result');
  for (const notices of [reports, noise('answers'), noise('web')]) expect(notices).toBeLessThan(2_000);
  await host.close();
  expect(await Promise.all([...floods, late])).toEqual(
    Array(4).fill({ error: expect.objectContaining({ may_have_run: true }) }),
  );
});
