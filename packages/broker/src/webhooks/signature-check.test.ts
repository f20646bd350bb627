import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type HookSignature, hookSecret } from '@signalbox/protocol/internal';
import { expect, test } from 'vitest';
import { checkSignature, type Verdict } from './signature-check.ts';

function verdictOf(
  hook: { signature: HookSignature; secret: string },
  headers: IncomingHttpHeaders,
  body: string,
  now = 0,
): Verdict {
  const secret = hookSecret(hook.signature, hook.secret);
  if ('problem' in secret) throw new Error(secret.problem);
  const check = checkSignature({ signature: hook.signature, key: secret.key }, headers, now);
  // The body comes in two pieces.
  check.update(Buffer.from(body.slice(0, 3)));
  check.update(Buffer.from(body.slice(3)));
  return check.verdict();
}

/** The test vector of GitHub's page "Validating webhook deliveries". */
const github = {
  hook: { signature: 'github', secret: "It's a Secret to Everybody" },
  body: 'Hello, World!',
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
} as const;

test("GitHub's documented test vector is accepted, and its delivery id is taken.", () => {
  const headers = { 'x-hub-signature-256': github.signature, 'x-github-delivery': 'a-guid' };
  expect(verdictOf(github.hook, headers, github.body)).toEqual({ deliveryId: 'a-guid' });
});

test.each([
  ['no signature', {}, github.body],
  ['one of SHA-1', { 'x-hub-signature-256': 'sha1=0123456789012345678901234567890123456789' }, github.body],
  ['a cut one', { 'x-hub-signature-256': github.signature.slice(0, -1) }, github.body],
  ['an empty one', { 'x-hub-signature-256': 'sha256=' }, github.body],
  ['that of another body', { 'x-hub-signature-256': github.signature }, 'Hello, World?'],
  ['zeros', { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }, github.body],
])('A request of GitHub with %s is refused.', (_, headers, body) => {
  expect(verdictOf(github.hook, headers, body)).toHaveProperty('refusal');
});

/** The test vector of the reference libraries of Standard Webhooks. */
const standard = {
  hook: { signature: 'standard', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  now: 1_614_265_330_000,
} as const;

test('The test vector of Standard Webhooks is accepted for five minutes, both ways, and one of several signatures is enough.', () => {
  const { hook, headers, body, now } = standard;
  const accepted = { deliveryId: 'msg_p5jXN8AQM9LWM0D4loKWxJek' };
  for (const at of [now, now + 300_000, now - 300_000])
    expect(verdictOf(hook, headers, body, at)).toEqual(accepted);
  for (const at of [now + 301_000, now - 301_000, 0])
    expect(verdictOf(hook, headers, body, at)).toEqual({ refusal: expect.stringContaining('timestamp') });
  const other = `v1,${Buffer.alloc(32, 1).toString('base64')}`;
  const several = { ...headers, 'webhook-signature': `v1a,xyz ${other} ${headers['webhook-signature']}` };
  expect(verdictOf(hook, several, body, now)).toEqual(accepted);
});

test.each([
  ['another id', { 'webhook-id': 'msg_other' }],
  ['no id', { 'webhook-id': undefined }],
  ['no time', { 'webhook-timestamp': undefined }],
  ['a time that is no number', { 'webhook-timestamp': '1614265330x' }],
  ['another time', { 'webhook-timestamp': '1614265331' }],
  ['no signature', { 'webhook-signature': undefined }],
  [
    'signatures of another version alone',
    { 'webhook-signature': 'v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' },
  ],
  ['wrong signatures alone', { 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')} v1,` }],
])('A request of Standard Webhooks with %s is refused.', (_, changed) => {
  const { hook, headers, body, now } = standard;
  expect(verdictOf(hook, { ...headers, ...changed }, body, now)).toHaveProperty('refusal');
});

test('A bearer token is accepted with and without an id of the delivery, and no other token is.', () => {
  const secret = 'a-bearer-token-of-32-characters-';
  const verdict = (headers: IncomingHttpHeaders) => verdictOf({ signature: 'bearer', secret }, headers, 'x');
  const authorization = `Bearer ${secret}`;
  expect(verdict({ authorization })).toEqual({ deliveryId: undefined });
  expect(verdict({ authorization, 'idempotency-key': 'k', 'webhook-id': 'w' })).toEqual({ deliveryId: 'k' });
  expect(verdict({ authorization, 'webhook-id': 'w' })).toEqual({ deliveryId: 'w' });
  for (const wrong of [
    undefined,
    '',
    'Bearer',
    `Bearer ${secret}x`,
    `Bearer ${secret.slice(1)}`,
    secret,
    `Basic ${secret}`,
  ])
    expect(verdict({ ...(wrong !== undefined && { authorization: wrong }) }), wrong).toHaveProperty(
      'refusal',
    );
});

test('The same signature is worth nothing with another secret.', () => {
  const hook = { signature: 'github', secret: 'another secret of 16' } as const;
  expect(verdictOf(hook, { 'x-hub-signature-256': github.signature }, github.body)).toHaveProperty('refusal');
  const right = createHmac('sha256', hook.secret).update(github.body).digest('hex');
  expect(verdictOf(hook, { 'x-hub-signature-256': `sha256=${right}` }, github.body)).toEqual({
    deliveryId: undefined,
  });
});
