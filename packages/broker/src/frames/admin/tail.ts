import { type AdminParams, operationPermissions } from '@signalbox/protocol';
import { type Caller, mayDo } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `tail`: starts or stops sending the caller the events of one agent's messages, or of all messages, at all brokers. */
export async function tail(
  { on, agent }: AdminParams<'tail'>,
  { followers, tailRelay }: Pick<FrameDeps, 'followers' | 'tailRelay'>,
  caller: Caller,
): OperationOutcome<'tail'> {
  const { consumer, sender } = caller;
  if (on) {
    const seesPrivate = mayDo(caller, operationPermissions.frame.private_status);
    followers.add(consumer, { address: sender.address, agent, seesPrivate });
    await tailRelay.begin();
  } else followers.remove(consumer);
  return { result: { on, ...(on && agent !== undefined && { agent }) } };
}
