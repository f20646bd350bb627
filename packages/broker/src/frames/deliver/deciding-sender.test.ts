import type { TokenRecord } from '@signalbox/store';
import { expect, test } from 'vitest';
import { decidingSender } from './deciding-sender.ts';

const token: TokenRecord = {
  ...{ id: 't1', hash: '', agent: 'lead', role: 'worker', createdAt: 0 },
  permissions: [],
};
const sender = { agent: 'lead', address: 'lead', role: 'worker' };

test('a sender is shown with its token if that decides, and with the token of the person if it is that of a sign-in', () => {
  expect(decidingSender(sender, token)).toEqual(sender);
  const approver = {
    ...token,
    permissions: ['approver' as const],
    approves: ['ci-*'],
    issuers: ['operator'],
  };
  const facts = { id: 't1', approves: ['ci-*'], issuers: ['operator'] };
  expect(decidingSender(sender, approver)).toEqual({ ...sender, token: facts });
  expect(decidingSender(sender, { ...approver, parentId: 't0' })).toEqual({ ...sender, token: facts });
  expect(decidingSender(sender, { ...approver, parentId: 't0', isSignIn: true })).toEqual({
    ...sender,
    token: { ...facts, sign_in_of: 't0' },
  });
});
