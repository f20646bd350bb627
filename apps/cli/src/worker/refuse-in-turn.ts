import { SignalboxError } from '@signalbox/protocol';

/**
 * Throws `forbidden` if this process runs in a turn of an agent that `worker serve` started, and is to take that agent's inbox: that would
 * take it from `worker serve`, which ends with its turns.
 */
export function refuseInTurn(agent: string, env: NodeJS.ProcessEnv): void {
  if (env.SIGNALBOX_SERVED !== '1' || env.SIGNALBOX_AGENT !== agent) return;
  const message = `signalbox worker serve holds the inbox of ${agent}, and this is one of its turns: nothing was taken`;
  throw new SignalboxError('forbidden', message, {
    details: { hint: 'signalbox inbox shows what waits; each message starts a turn by itself' },
  });
}
