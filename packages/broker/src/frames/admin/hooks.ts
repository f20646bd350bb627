import type { AdminParams, AdminResult } from '@signalbox/protocol';
import type { Hook } from '../../webhooks/webhooks.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `hooks`: lists the webhooks with the counts of their deliveries. */
export async function listHooks(
  _params: AdminParams<'hooks'>,
  { webhooks }: Pick<FrameDeps, 'webhooks'>,
): OperationOutcome<'hooks'> {
  const hooks = Array.from(webhooks.all(), (hook) => describeHook(hook, webhooks.urlsOf(hook)));
  return { result: { hooks } };
}

function describeHook(
  { name, to, kind, signature, counts }: Hook,
  urls: string[],
): AdminResult<'hooks'>['hooks'][number] {
  const { stored, repeated, refused, deliveredAt, lastRefusal } = counts;
  return {
    name,
    to,
    kind,
    signature,
    urls,
    stored,
    repeated,
    refused: [...refused.values()].reduce((sum, count) => sum + count, 0),
    ...(deliveredAt !== undefined && { delivered_at: deliveredAt }),
    ...(lastRefusal && { last_refusal: lastRefusal }),
  };
}
