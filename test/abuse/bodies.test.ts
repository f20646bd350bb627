import { requestAddress } from '@signalbox/client';
import { bodyLimits } from '@signalbox/protocol';
import { connectWire } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { drained, startBrokerWithClients } from '../support/broker/broker-with-clients.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const timeoutMs = 10_000;
const bomb = '['.repeat(1_000_000);
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const poisoned = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"plain":1}';

describe('a depth bomb in a body', () => {
  it('kills the request it came in, and the next one is served', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server, events } = await broker.connect('server');
    await server.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    await using hostile = await connectWire(broker.url, {
      agent: 'hostile',
      token: await broker.token('hostile'),
    });
    for (const [id, body] of [
      ['deep', bomb],
      ['objects', '{"a":'.repeat(100_000)],
      ['just-too-deep', nested(bodyLimits.maxDepth + 1)],
    ]) {
      hostile.send({ type: 'deliver', to: 'server', id, kind: 'ask' }, body);
      await hostile.next('delivered', { id });
    }
    const { client } = await broker.connect(requestAddress('asker'));
    const deepest = JSON.parse(nested(bodyLimits.maxDepth));
    const outcome = await client.request('server', 'ask', deepest, { timeoutMs });
    expect(outcome).toMatchObject({ status: 'completed', reply: { json: deepest } });
    await drained(server);
    expect(events.filter(({ event }) => event === 'bad_body')).toHaveLength(3);
  });

  it('in a reply ends its request as undeliverable, in progress it ends nothing', async () => {
    await using broker = await startBrokerWithClients();
    await using server = await connectWire(broker.url, {
      agent: 'server',
      token: await broker.token('server'),
    });
    server.send({ type: 'subscribe', request_id: 's' });
    const { client } = await broker.connect(requestAddress('asker'));
    const heard: unknown[] = [];
    const options = { timeoutMs, onProgress: (body: unknown) => heard.push(body) };
    const ask = async (body: string): Promise<unknown> => {
      const outcome = client.request('server', 'ask', null, options);
      const { id, seq } = await server.next('message');
      const answer = { type: 'deliver', to: client.address, correlation_id: id };
      for (const progress of [bomb, '"fine"']) {
        server.send({ ...answer, id: 'p', kind: 'progress', ephemeral: true }, progress);
      }
      server.send({ ...answer, id: `re:${id}`, kind: 'reply', settles: seq }, body);
      return outcome;
    };
    expect(await ask(bomb)).toEqual({ status: 'undeliverable', reason: 'bad_body', mayHaveRun: true });
    expect(await ask('"ok"')).toMatchObject({ status: 'completed', reply: { json: 'ok' } });
    expect(heard).toEqual(['fine', 'fine']);
    await drained(client);
  });
});

describe('keys of the prototype', () => {
  it('in a body reach its reader as plain keys, and no object of the process', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    await server.serve(['ask'], async ({ json }) => ({
      kind: 'reply',
      body: {
        keys: Object.keys(json as object),
        plain: (json as { plain: number }).plain,
        polluted: ({} as Record<string, unknown>).polluted ?? null,
      },
    }));
    const outcome = await client.request('server', 'ask', JSON.parse(poisoned), { timeoutMs });
    expect(outcome).toMatchObject({
      status: 'completed',
      reply: { json: { keys: ['__proto__', 'constructor', 'plain'], plain: 1, polluted: null } },
    });
  });

  it('in the arguments of a tool poison nothing on their way, and name no tool and no field', async () => {
    await using stack = await startToolStack();
    const client = await stack.client('agent');
    const call = async (body: unknown): Promise<Record<string, unknown>> => {
      const outcome = await client.request('orchestrator', 'mcp_request', body, { timeoutMs });
      if (outcome.status !== 'completed') throw new Error(outcome.status);
      return outcome.reply.json as Record<string, unknown>;
    };
    const tool = 'mcp_counter__echo';
    for (const args of [JSON.parse(poisoned), poisoned]) {
      const { result } = await call({ op: 'call', tool, arguments: args });
      const echoed = (result as { structuredContent: Record<string, unknown> }).structuredContent;
      expect(echoed.polluted).toBeUndefined();
      // As it was, and a field like any other.
      expect(JSON.stringify(echoed)).toBe(poisoned);
    }
    for (const name of ['__proto__', 'constructor', 'mcp_counter____proto__', 'toString']) {
      expect(await call({ op: 'call', tool: name, arguments: {} })).toMatchObject({
        error: { code: 'tool_not_found', may_have_run: false },
      });
    }
    const inherited = JSON.parse(`{"op":"call","__proto__":{"tool":"${tool}"},"arguments":{}}`);
    expect(await call(inherited)).toMatchObject({ error: { code: 'invalid_arguments' } });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
