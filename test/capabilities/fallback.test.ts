import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { openCatalog } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';

type Answer = (response: ServerResponse) => void;
const ok: Answer = (response) => json(response, 200, { from: 'here' });
const status =
  (code: number, headers = {}): Answer =>
  (response) => {
    response.writeHead(code, headers).end(`said ${code}`);
  };
const drop: Answer = (response) => {
  response.socket?.destroy();
};
const silence: Answer = () => {};

/** A tool with a primary and a fallback provider, whose answers the test picks. Timeouts in seconds. */
async function setUp(metadata: Record<string, unknown>, timeouts: { primary?: number; spare?: number } = {}) {
  const answers: { primary: Answer; spare: Answer } = { primary: ok, spare: ok };
  const primary = await startWebServer((_, response) => answers.primary(response));
  const spare = await startWebServer((_, response) => answers.spare(response));
  const provider = (base_url: string, timeout = 5) => ({
    service: 'rest',
    config: { base_url, method: 'POST', timeout },
  });
  const tool = {
    name: 'act',
    providers: {
      primary: provider(primary.origin, timeouts.primary),
      fallback: [provider(spare.origin, timeouts.spare)],
    },
    metadata,
  };
  const tools = await openCatalog({ 'a.json': tool }, { allowHosts: ['127.0.0.1'] });
  return {
    answers,
    primary,
    spare,
    tools,
    async [Symbol.asyncDispose]() {
      await tools[Symbol.asyncDispose]();
      await primary[Symbol.asyncDispose]();
      await spare[Symbol.asyncDispose]();
    },
  };
}

it('a tool that may be repeated goes on to the next provider after a failure on the way', async () => {
  await using at = await setUp({ idempotent: true }, { primary: 0.4 });
  for (const failing of [drop, silence, status(500), status(429)]) {
    at.answers.primary = failing;
    expect(await at.tools.call('act')).toMatchObject({ result: { structuredContent: { from: 'here' } } });
  }
  expect(at.spare.arrivals).toHaveLength(4);
  expect(at.tools.events.filter(({ event }) => event === 'capability_fell_back')).toHaveLength(4);
  at.answers.primary = status(404);
  expect(await at.tools.call('act')).toMatchObject({ result: { isError: true } });
  expect(at.spare.arrivals).toHaveLength(4);
});

it('says of every provider why it failed, and that the call may have run', async () => {
  await using at = await setUp({ read_only: true });
  at.answers.primary = status(502);
  at.answers.spare = status(503, { 'retry-after': '3' });
  expect(await at.tools.call('act')).toMatchObject({
    error: {
      code: 'mcp_server_unreachable',
      retryable: true,
      may_have_run: true,
      retry_after_seconds: 3,
      cause_chain: expect.arrayContaining([`${at.primary.host}: HTTP 502: said 502`]),
    },
  });
  at.answers.spare = status(401);
  expect(await at.tools.call('act')).toMatchObject({ error: { code: 'internal', may_have_run: true } });
});

it('a tool that may not be repeated goes on only where nothing was sent', async () => {
  await using at = await setUp({});
  at.answers.primary = drop;
  expect(await at.tools.call('act')).toMatchObject({
    error: { code: 'outcome_unknown', retryable: false, may_have_run: true },
  });
  expect(at.spare.arrivals).toEqual([]);
  await at.primary[Symbol.asyncDispose]();
  const order: string[] = [];
  const outcome = await at.tools.call(
    'act',
    {},
    {
      beforeSend: async () => {
        order.push('before');
        return undefined;
      },
      onSent: () => order.push('sent'),
    },
  );
  expect(outcome).toMatchObject({ result: { structuredContent: { from: 'here' } } });
  expect(order).toEqual(['before', 'sent', 'before', 'sent']);
  expect(at.spare.arrivals).toHaveLength(1);
});

it('the word of the caller on repeating goes before that of the file', async () => {
  await using at = await setUp({});
  at.answers.primary = status(500);
  expect(await at.tools.call('act', {}, { repeatable: true })).toHaveProperty('result');
  await using never = await setUp({ read_only: true });
  never.answers.primary = status(500);
  expect(await never.tools.call('act', {}, { repeatable: false })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
});

it('an error of beforeSend ends the call unsent', async () => {
  await using at = await setUp({});
  const error = {
    code: 'internal',
    message: 'no journal',
    category: 'permanent',
    retryable: false,
    may_have_run: false,
  } as const;
  expect(await at.tools.call('act', {}, { beforeSend: async () => error })).toEqual({ error });
  expect(at.primary.arrivals).toEqual([]);
});

it('ends a call at its deadline, at the timeout of its provider and when it is cancelled', async () => {
  await using at = await setUp({});
  at.answers.primary = silence;
  const controller = new AbortController();
  const cancelled = at.tools.call('act', {}, { signal: controller.signal });
  await expect.poll(() => at.primary.arrivals.length).toBe(1);
  controller.abort();
  expect(await cancelled).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  expect(await at.tools.call('act', {}, { signal: AbortSignal.abort() })).toMatchObject({
    error: { code: 'cancelled', may_have_run: false },
  });
  expect(await at.tools.call('act', {}, { timeoutMs: 50 })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  expect(at.spare.arrivals).toEqual([]);
  await using safe = await setUp({ read_only: true }, { primary: 0.05, spare: 0.05 });
  safe.answers.primary = silence;
  safe.answers.spare = silence;
  expect(await safe.tools.call('act')).toMatchObject({ error: { code: 'tool_timeout', retryable: true } });
  expect(safe.tools.events).toMatchObject([
    { event: 'capabilities_loaded' },
    { event: 'capability_fell_back', tool: 'act', from: safe.primary.host, message: 'no answer in time' },
  ]);
});

it('a host that is not allowed is not called, and no fallback hides that', async () => {
  await using at = await setUp({ read_only: true });
  const provider = { service: 'rest', config: { base_url: 'http://localhost' } };
  const other = { service: 'rest', config: { base_url: at.spare.origin } };
  await using tools = await openCatalog({
    'a.json': {
      name: 'inner',
      providers: { primary: provider, fallback: [other] },
      metadata: { read_only: true },
    },
  });
  expect(await tools.call('inner')).toMatchObject({
    error: {
      code: 'network_blocked',
      may_have_run: false,
      message: expect.stringMatching(/^localhost is not on the public internet .* allowHosts$/),
    },
  });
  expect(at.spare.arrivals).toEqual([]);
});

it('says that an answer is too large', async () => {
  await using at = await setUp({});
  at.answers.primary = (response) => response.end('x'.repeat(8 * 1024 * 1024 + 1));
  expect(await at.tools.call('act')).toMatchObject({
    error: { code: 'result_too_large', may_have_run: true },
  });
});
