import { connectWire, startTestBroker, testClock, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';

async function mint(minter: WireClient, agent: string, ttlMs: number): Promise<Record<string, unknown>> {
  const params = { agent, role: 'tester', ttl_ms: ttlMs };
  minter.send({ type: 'admin', request_id: agent, op: 'token_issue', params });
  const frame = await minter.next(['admin_result', 'error'], { request_id: agent });
  return frame.type === 'error' ? frame : (frame.result as Record<string, unknown>);
}

it('A minting token has so many live tokens, and issues so many a minute; expired ones are removed.', async () => {
  const clock = testClock();
  await using broker = await startTestBroker({
    limits: { tokens: { perMinter: 3, mintedPerMinute: 4 } },
    now: clock.now,
    monotonic: clock.monotonic,
  });
  await using minter = await connectWire(broker.url, {
    agent: 'ci-minter',
    token: await broker.token('ci-*', 'tester'),
  });
  await using operator = await connectWire(broker.url, {
    agent: 'operator',
    token: await broker.operatorToken(),
  });
  const agents = async (): Promise<string[]> => {
    operator.send({ type: 'admin', request_id: 'list', op: 'token_list' });
    const { result } = await operator.next('admin_result', { request_id: 'list' });
    return (result as { tokens: { agent: string }[] }).tokens.map(({ agent }) => agent);
  };

  for (const agent of ['ci-1', 'ci-2', 'ci-3']) {
    expect(await mint(minter, agent, 60_000)).toMatchObject({ agent });
  }
  expect(await mint(minter, 'ci-4', 60_000)).toMatchObject({
    code: 'quota_exceeded',
    message:
      "3 tokens of this minting token are live, the most for role 'tester'; revoke some, or raise broker.limits.tokens.perMinter",
  });
  clock.advance(30_000);
  expect(await mint(minter, 'ci-4', 1)).toMatchObject({ code: 'quota_exceeded' });
  clock.advance(31_000);
  for (const agent of ['ci-5', 'ci-6']) expect(await mint(minter, agent, 1000)).toMatchObject({ agent });
  clock.advance(1000);
  for (const agent of ['ci-7', 'ci-8']) expect(await mint(minter, agent, 1000)).toMatchObject({ agent });
  expect(await mint(minter, 'ci-9', 1000)).toMatchObject({
    code: 'rate_limited',
    message:
      "more than 4 tokens a minute of one minting token for role 'tester'; issue them more slowly, or raise broker.limits.tokens.mintedPerMinute",
    retry_after_ms: expect.any(Number),
  });

  for (let i = 0; i < 22; i++) clock.advance(30_000);
  let left = await agents();
  while (left.some((agent) => /^ci-\d$/.test(agent))) left = await agents();
  expect(left).toContain('ci-*');
  expect(await mint(minter, 'ci-9', 1000)).toMatchObject({ agent: 'ci-9' });
});
