import { connectWire } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { ask } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const by = 'orchestrator="orchestrator",server="counter"';

test('Calls, servers and circuits are shown by the broker while their orchestrator is connected, and no longer.', async () => {
  await using stack = await startToolStack({ broker: { metrics: 'open' }, reportEveryMs: 50 });
  const read = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${stack.broker.port}${path}`);
    return await response.text();
  };
  await using reader = await stack.executor('rita', 'reader');
  await reader.execute({ name: 'mcp_counter__echo', arguments: { text: 'x' } });
  await ask(await stack.client('rosa', 'reader'), { op: 'call', tool: 'mcp_counter__none', arguments: {} });
  await expect.poll(() => read('/metrics')).toContain('code="tool_not_found"');
  const metrics = await read('/metrics');
  for (const line of [
    `signalbox_call_duration_seconds_count{${by},tool="mcp_counter__echo",outcome="ok"} 1`,
    `signalbox_call_duration_seconds_bucket{${by},tool="mcp_counter__echo",outcome="ok",le="300"} 1`,
    'signalbox_calls_refused_total{orchestrator="orchestrator",code="tool_not_found"} 1',
    'signalbox_calls_outcome_unknown_total{orchestrator="orchestrator"} 0',
    `signalbox_server_state{${by},state="ready"} 1`,
    `signalbox_server_circuit_open{${by}} 0`,
    `signalbox_server_restarts_total{${by}} 0`,
    `signalbox_calls_running{${by}} 0`,
  ])
    expect(metrics).toContain(`${line}\n`);
  expect(metrics).not.toMatch(/rita|rosa/);
  expect(await read('/readyz?verbose')).toMatch(
    /\[ok\] {3}orchestrator 'orchestrator': reported [\d.]+ s ago\n/,
  );
});

test('Only orchestrators report figures; what cannot be read is left out, and hides nothing of others.', async () => {
  await using stack = await startToolStack({
    broker: { metrics: 'open' },
    counter: false,
    reportEveryMs: 50,
  });
  const { broker } = stack;
  const read = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${broker.port}${path}`);
    expect(response.status).toBe(200);
    return await response.text();
  };
  await using worker = await connectWire(broker.url, { agent: 'walt', token: await broker.token('walt') });
  worker.send({ type: 'metrics', problems: [] }, '{"running":[[["x"],1]]}');
  expect(await worker.next(['error'])).toMatchObject({ code: 'forbidden' });
  const token = await broker.token('second', 'orchestrator');
  const second = await connectWire(broker.url, { agent: 'second', token });
  second.send({ type: 'metrics', problems: [] }, JSON.stringify({ x: 'x'.repeat(256 * 1024) }));
  expect(await second.next(['error'])).toMatchObject({ code: 'message_too_large' });
  const bodies = [
    'not json',
    '{"running":[[["x","y"],1]]}',
    '{"running":[[["x"],"1"]]}',
    '{"calls":[[["a","b","c"],[1],1]]}',
  ];
  for (const body of bodies) {
    second.send({ type: 'metrics', problems: ["server 'x' is in the state ejected"] }, body);
    await expect.poll(() => read('/readyz?verbose')).toContain("[fail] orchestrator 'second': reported");
    const metrics = await read('/metrics');
    expect(metrics).not.toContain('orchestrator="second",server=');
    expect(metrics).toContain('signalbox_calls_running{orchestrator="orchestrator",server="other"} 0');
  }
  second.send({ type: 'metrics', problems: [] }, '{"running":[[["q\\"\\n"],4]],"unknown_key":1}');
  await expect
    .poll(() => read('/metrics'))
    .toContain('signalbox_calls_running{orchestrator="second",server="q\\"\\n"} 4\n');
  await second[Symbol.asyncDispose]();
  await expect.poll(() => read('/metrics')).not.toContain('orchestrator="second"');
});
