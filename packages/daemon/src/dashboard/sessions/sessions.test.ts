import type { BrokerClient } from '@signalbox/client';
import { expect, test } from 'vitest';
import type { BrokerAccess } from '../access.ts';
import { Sessions } from './sessions.ts';

/** A broker where the token `ann-1` is a session of `ann`, and that notes which connections are closed. */
function brokerAt(closed: string[]): BrokerAccess {
  const agentOf = (token: string) => token.split('-')[0]!;
  return {
    origins: () => [],
    codeFor: () => Promise.resolve(''),
    signIn: () => Promise.resolve(undefined),
    signOut: () => Promise.resolve(),
    sessionOf: (token) => ({
      agent: agentOf(token),
      role: 'observer',
      permissions: ['observer'],
      expiresAt: Number.POSITIVE_INFINITY,
    }),
    connect: ({ token }) => {
      const end = Promise.withResolvers<void>();
      const close = () => {
        closed.push(token);
        end.resolve();
      };
      return Promise.resolve({
        closed: end.promise,
        close,
        state: { name: 'closed' },
      } as never as BrokerClient);
    },
  };
}

test('Many browsers of one agent make room for one of another, those that nobody uses first.', async () => {
  const closed: string[] = [];
  const sessions = new Sessions(brokerAt(closed), 'orchestrator', () => 0);
  using _first = await sessions.use('ann-0');
  for (let number = 1; number < 64; number++) (await sessions.use(`ann-${number}`))[Symbol.dispose]();
  await expect(sessions.use('ann-64')).rejects.toMatchObject({ code: 'rate_limited' });
  using _other = await sessions.use('bob-0');
  expect(closed).toEqual(['ann-1']);
  await expect(sessions.use('ann-1')).rejects.toMatchObject({ code: 'rate_limited' });
  sessions.closeAll();
});

test('Agents that share all places take none from each other.', async () => {
  const closed: string[] = [];
  const sessions = new Sessions(brokerAt(closed), 'orchestrator', () => 0);
  for (let number = 0; number < 32; number++)
    for (const agent of ['ann', 'bob']) (await sessions.use(`${agent}-${number}`))[Symbol.dispose]();
  await expect(sessions.use('ann-32')).rejects.toMatchObject({ code: 'rate_limited' });
  expect(closed).toEqual([]);
  using _third = await sessions.use('cid-0');
  await expect(sessions.use('ann-32')).rejects.toMatchObject({ code: 'rate_limited' });
  expect(closed).toHaveLength(1);
  sessions.closeAll();
});
