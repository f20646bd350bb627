import type { BrokerClient } from '@signalbox/client';
import { expect, test } from 'vitest';
import type { BrokerAccess } from '../access.ts';
import { SignIns } from './sign-ins.ts';

/** A broker where the token `ann-1` is a sign-in of `ann`, and that notes which connections are closed. */
function brokerAt(closed: string[]): BrokerAccess {
  const agentOf = (token: string) => token.split('-')[0]!;
  return {
    origins: () => [],
    codeFor: () => Promise.resolve(''),
    signIn: () => Promise.resolve(undefined),
    signOut: () => Promise.resolve(),
    tokens: () => [],
    signInOf: (token) => ({
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
  const signIns = new SignIns(brokerAt(closed), 'orchestrator', () => 0);
  using _first = await signIns.use('ann-0');
  for (let number = 1; number < 64; number++) (await signIns.use(`ann-${number}`))[Symbol.dispose]();
  await expect(signIns.use('ann-64')).rejects.toMatchObject({ code: 'rate_limited' });
  using _other = await signIns.use('bob-0');
  expect(closed).toEqual(['ann-1']);
  await expect(signIns.use('ann-1')).rejects.toMatchObject({ code: 'rate_limited' });
  signIns.closeAll();
});

test('Agents that share all places take none from each other.', async () => {
  const closed: string[] = [];
  const signIns = new SignIns(brokerAt(closed), 'orchestrator', () => 0);
  for (let number = 0; number < 32; number++)
    for (const agent of ['ann', 'bob']) (await signIns.use(`${agent}-${number}`))[Symbol.dispose]();
  await expect(signIns.use('ann-32')).rejects.toMatchObject({ code: 'rate_limited' });
  expect(closed).toEqual([]);
  using _third = await signIns.use('cid-0');
  await expect(signIns.use('ann-32')).rejects.toMatchObject({ code: 'rate_limited' });
  expect(closed).toHaveLength(1);
  signIns.closeAll();
});
