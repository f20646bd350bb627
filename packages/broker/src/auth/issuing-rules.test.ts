import { agentTokenMs } from '@signalbox/serving';
import type { TokenRecord } from '@signalbox/store';
import { expect, test } from 'vitest';
import { judgeIssue } from './issuing-rules.ts';
import type { TokenRequest } from './token-rules.ts';

const now = 1000;
const hour = 3_600_000;
const person: TokenRecord = {
  ...{ id: 'person', hash: '', agent: 'operator.alice', role: 'operator', createdAt: 0 },
  permissions: ['operator'],
};
const signIn: TokenRecord = {
  ...{ ...person, id: 'sign-in', parentId: 'person', isSignIn: true, expiresAt: now + 12 * hour },
};
const tokensWith = (parent: TokenRecord | undefined) => ({
  get: (id: string) => (id === 'person' ? parent : undefined),
  refuseRole: () => undefined,
});
const facts = { mints: false, tokens: tokensWith(person), now };

function parentOf(issuer: TokenRecord, request: TokenRequest): unknown {
  const judged = judgeIssue(issuer, request, facts);
  return 'origin' in judged ? judged.origin.parent?.id : judged.refusal.field;
}

const more: TokenRequest[] = [
  { agent: 'bridge', role: 'worker', approves: ['builder'] },
  { agent: 'ci-*', role: 'worker' },
  { agent: 'orchestrator', role: 'orchestrator' },
];

test.each(more)(
  'What a browser issues that does more than act for an agent ends with the person’s token: $agent',
  (request) => {
    expect(parentOf(signIn, request)).toBe('person');
    expect(parentOf(signIn, { ...request, ttlMs: agentTokenMs })).toBe('person');
    for (const ttlMs of [null, agentTokenMs + 1])
      expect(parentOf(signIn, { ...request, ttlMs })).toBe('ttl_ms');
    const brief = { ...facts, tokens: tokensWith({ ...person, expiresAt: now + hour }) };
    expect(judgeIssue(signIn, { ...request, ttlMs: hour }, brief)).toHaveProperty('origin');
    expect(judgeIssue(signIn, { ...request, ttlMs: hour + 1 }, brief)).toHaveProperty(
      'refusal.field',
      'ttl_ms',
    );
    expect(judgeIssue(signIn, request, { ...facts, tokens: tokensWith(undefined) })).toHaveProperty(
      'refusal.field',
      'agent',
    );
    // The token of a person who did not sign in with a browser is bound to nothing.
    expect(parentOf(person, { ...request, ttlMs: null })).toBeUndefined();
  },
);

test('A token that a browser issued for a person hands its bound on, and one for an agent ends with no other.', () => {
  const forPerson = { agent: 'operator.mal', role: 'operator', ttlMs: hour };
  expect(parentOf(signIn, forPerson)).toBe('person');
  expect(parentOf(signIn, { ...forPerson, ttlMs: 13 * hour })).toBe('ttl_ms');
  const mal: TokenRecord = { ...person, id: 'mal', parentId: 'person', expiresAt: now + hour };
  for (const request of more) {
    expect(parentOf(mal, request)).toBe('mal');
    expect(parentOf(mal, { ...request, ttlMs: 2 * hour })).toBe('ttl_ms');
  }
  expect(parentOf(signIn, { agent: 'rosa', role: 'worker', ttlMs: null })).toBeUndefined();
});
