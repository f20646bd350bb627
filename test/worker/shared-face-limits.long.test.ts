import { expect, test } from 'vitest';
import { connectShim, newConsumer, startSharedFaceStack } from '../support/worker/shared-face.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

test('the connections of one agent over all its tokens are limited, and so are the agents of a face', async () => {
  await using site = await startSharedFaceStack({}, { limits: { agents: 2, sessionsPerAgent: 1 } });
  await using _rosa = await site.shim('rosa');
  const consumer = newConsumer();
  const refusal = async (agent: string, given?: string) => {
    const token = given ?? (await site.stack.broker.tokenOf(agent, 'worker'));
    await using shim = await connectShim(site.path, { token, consumer }, { initialize: false });
    return (await shim.line('refused')).refused;
  };
  expect(await refusal('rosa')).toMatchObject({ code: 'too_many_connections', retryable: true });
  expect(await refusal('rosa', await site.stack.broker.token('rosa'))).toMatchObject({
    message: expect.stringContaining('worker.limits.sessionsPerAgent'),
  });
  const watcher = await site.stack.client('rosa');
  const connected = async () => (await watcher.listConnected()).map(({ address }) => address);
  await expect.poll(connected).not.toContain(`rosa#mcp-${consumer}`);
  {
    await using _wim = await site.shim('wim');
    expect(await refusal('eva')).toMatchObject({ message: expect.stringContaining('worker.limits.agents') });
  }
  await expect.poll(() => site.face.sessionCount).toBe(1);
  await using eva = await site.shim('eva');
  expect(await eva.call(2, count)).toHaveProperty('result');
});

test('a flood of one agent has its turns, and other agents have theirs', async () => {
  await using site = await startSharedFaceStack();
  await using rosa = await site.shim('rosa');
  await using wim = await site.shim('wim');
  const flood = 20_000;
  let answered = 0;
  rosa.socket.on('data', (chunk: Buffer) => {
    answered += String(chunk).split('\n').length - 1;
  });
  const pings = Array.from(
    { length: flood },
    (_, n) => `${n + 2} {"jsonrpc":"2.0","id":${n + 2},"method":"ping"}\n`,
  );
  rosa.socket.write(pings.join(''));
  expect(await wim.call(2, echo)).toHaveProperty('result');
  expect(answered).toBeLessThan(flood);
  await expect.poll(() => answered).toBe(flood);
});

test('what waits for the clients of one agent is bounded together, and only one that does not read is cut off', async () => {
  await using site = await startSharedFaceStack({}, { limits: { unreadBytes: 900_000 } });
  await using reading = await site.shim('rosa');
  await using first = await site.shim('rosa');
  await using second = await site.shim('rosa');
  for (const { socket } of [first, second]) socket.pause();
  const ended = () => site.events.filter(({ event }) => event === 'ended').length;
  // The socket itself takes some of it.
  for (let n = 2; ended() === 0; n++) {
    for (const shim of [first, second]) shim.request(n, 'tools/list');
    expect(await reading.call(n, echo)).toHaveProperty('result');
    expect(n).toBeLessThan(400);
  }
  expect(ended()).toBe(1);
  expect(await reading.call(1_000, echo)).toHaveProperty('result');
});
