import type { AdminParams } from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `tail`: starts or stops sending the caller the events of one agent's messages, or of all messages, at all brokers. */
export async function tail(
  { on, agent }: AdminParams<'tail'>,
  { followers, tailRelay }: Pick<FrameDeps, 'followers' | 'tailRelay'>,
  { consumer, sender }: Caller,
): OperationOutcome<'tail'> {
  if (on) {
    followers.add(consumer, sender.address, agent);
    await tailRelay.begin();
  } else followers.remove(consumer);
  return { result: { on, ...(on && agent !== undefined && { agent }) } };
}
