import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { startTail } from '../support/cli/tail.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

test('tail follows messages and tool calls, says when it was cut off from the broker, and ends at Ctrl-C.', async () => {
  await using stack = await startToolStack({
    allowlist: RoleToolAllowlist.fromEntries([['builder', ['mcp_counter__*']]]),
  });
  const { broker } = stack;
  await using tail = await startTail(['--data', broker.dataDir]);
  expect(tail.events[0]).toEqual({ what: 'following', url: broker.broker.socket, agent: null });
  const executor = await stack.executor('bea', 'builder');
  expect(await executor.execute({ name: 'mcp_counter__echo', arguments: {} })).toHaveProperty('result');
  await expect.poll(tail.told).toContain('call mcp_counter__echo ok');
  const request = tail.events.find(({ message }) => message?.kind === 'mcp_request');
  expect(tail.events.find(({ call }) => call?.state === 'finished')).toMatchObject({
    call: { agent: 'bea', role: 'builder', request_id: request?.message?.id, state: 'finished' },
  });
  expect(request?.message).toMatchObject({
    from: { agent: 'bea' },
    to: 'orchestrator',
    size: expect.any(Number),
  });

  const ann = await stack.client('ann');
  await stack.clientAt('bob');
  await ann.deliver({ to: 'bob', kind: 'note', id: 'n1', body: 'secret' });
  await expect.poll(tail.told).toContain('stored n1');
  await broker.restart();
  await expect.poll(tail.told).toContain('reconnected');
  await expect.poll(() => ann.state.name).toBe('ready');
  await ann.deliver({ to: 'bob', kind: 'note', id: 'n2', body: 'secret' });
  await expect.poll(tail.told).toContain('stored n2');
  const cut = tail.told().filter((line) => ['disconnected', 'reconnected', 'stored n2'].includes(line));
  expect(cut).toEqual(['disconnected', 'reconnected', 'stored n2']);
  expect(JSON.stringify(tail.events)).not.toContain('secret');
  expect(await tail.stop()).toBe(0);
});
