import type { BrokerClient } from '@signalbox/client';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { type Session, withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { askForCalls, findCalls } from '../tools/call-records.ts';
import { CallWatch } from './call-watch.ts';
import { readNotice } from './tail-event.ts';
import { TailOutput } from './tail-output.ts';

/** The options of `signalbox tail`. */
export interface TailFlags extends ConnectionFlags {
  /** Show only events of this agent. */
  about?: string;
  orchestrator?: string;
  json?: boolean;
}

/** Prints what happens to messages and tool calls, live, until the process is asked to end. */
export async function tail(flags: TailFlags): Promise<void> {
  const stop = stopRequested();
  await withSession(flags, async (session) => {
    const output = new TailOutput(flags.json === true);
    using calls = watchCalls(session, flags, output);
    const end = await Promise.race([follow(session, flags, { output, calls }), stop]);
    if (end instanceof SignalboxError) throw end;
  });
}

/** Prints events until the broker closes the connection or refuses to go on; resolves or rejects with the reason. */
async function follow(
  { client, connection }: Session,
  flags: TailFlags,
  { output, calls }: { output: TailOutput; calls: CallWatch },
): Promise<SignalboxError | undefined> {
  client.onMessage(({ kind, from, json }) => {
    // Only the broker itself is believed, by the identity that it attests.
    if (kind !== 'event' || from.agent !== 'broker' || from.role !== 'broker') return;
    const notice = readNotice(json);
    if (!notice) return;
    output.show(notice);
    calls.observe(notice);
  });
  await register(client, flags);
  if (flags.json) printJson({ what: 'following', url: connection.url, agent: flags.about ?? null });
  else printLines(`following ${flags.about ?? 'all agents'} at ${connection.url}; Ctrl-C ends it`);
  const refused = Promise.withResolvers<never>();
  client.onState(({ name }) => {
    if (name === 'reconnecting') output.show({ what: 'disconnected', at: Date.now() });
    if (name !== 'ready') return;
    register(client, flags).then(
      () => output.show({ what: 'reconnected', at: Date.now() }),
      (error: unknown) => {
        // Lost again: the next connection registers.
        if (!(error instanceof SignalboxError && error.code === 'connection_lost')) refused.reject(error);
      },
    );
  });
  return await Promise.race([client.closed, refused.promise]);
}

async function register(client: BrokerClient, { about }: TailFlags): Promise<void> {
  await client.admin('tail', { on: true, ...(about !== undefined && { agent: about }) });
}

/** Follows the calls of the orchestrator. A line says once that it cannot be asked; messages are shown all the same. */
function watchCalls(session: Session, flags: TailFlags, output: TailOutput): CallWatch {
  let isThere = false;
  let isFailing = false;
  return new CallWatch({
    async ask(since) {
      // The list of all connections says whether it is there, and is read only where that is in doubt.
      const ask = isThere ? askForCalls : findCalls;
      const records = await ask(session, flags, { since });
      isThere = true;
      isFailing = false;
      return records;
    },
    onChange: (call) => {
      const at = call.finished_at ?? call.started_at ?? call.received_at;
      output.show({ what: 'call', at, call });
    },
    onFailure: (error) => {
      isThere = false;
      if (isFailing) return;
      isFailing = true;
      const code = error instanceof SignalboxError ? error.code : 'internal';
      output.show({ what: 'calls_missing', at: Date.now(), code, message: messageOf(error) });
    },
  });
}
