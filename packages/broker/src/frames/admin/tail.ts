import type { AdminParams } from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `tail`: starts or stops telling the caller what happens to the messages of one agent, or of all. */
export async function tail(
  { on, agent }: AdminParams<'tail'>,
  { followers }: Pick<FrameDeps, 'followers'>,
  { consumer, sender }: Caller,
): OperationOutcome<'tail'> {
  if (on) followers.add(consumer, sender.address, agent);
  else followers.remove(consumer);
  return { result: { on, ...(on && agent !== undefined && { agent }) } };
}
