import { createHmac } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { BrokerOptions, HookSettings } from '@signalbox/broker';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { ask, type Response } from '../http/ask.ts';
import { connect } from './wire-actions.ts';

const secret = "It's a Secret to Everybody";
export const token = 'a-bearer-token-of-32-characters-';
export const standardKey = Buffer.alloc(24, 7);
export const hooks = {
  github: { to: 'rosa', kind: 'task', secret, signature: 'github' },
  mail: {
    to: 'rosa',
    kind: 'note',
    secret: `whsec_${standardKey.toString('base64')}`,
    signature: 'standard',
  },
  ci: { to: 'rosa', kind: 'note', secret: token, signature: 'bearer' },
} as const satisfies HookSettings;

interface Sent {
  body?: string;
  headers?: OutgoingHttpHeaders;
  method?: string;
}

/** Sends a request to a webhook. */
export function post(
  broker: TestBroker,
  hook: string,
  { method = 'POST', ...sent }: Sent,
): Promise<Response> {
  return ask(broker, `/hooks/${hook}`, { method, ...sent });
}

export function sign(body: string, delivery: string): OutgoingHttpHeaders {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return {
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-delivery': delivery,
    'x-github-event': 'push',
    'content-type': 'application/json',
  };
}

export function push(broker: TestBroker, delivery: string, body = '{"ref":"main"}'): Promise<Response> {
  return post(broker, 'github', { body, headers: sign(body, delivery) });
}

export async function startWithReader(options: Partial<BrokerOptions> = {}) {
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startTestBroker({ hooks, ...options }));
  const rosa = opened.use(await connect(broker, 'rosa'));
  const resources = opened.move();
  return { broker, rosa, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
