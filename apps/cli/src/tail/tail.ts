import { followTail } from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { orchestratorOf } from '../connection/orchestrator-request.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { BriefTail } from './brief-tail.ts';
import { TailOutput } from './tail-output.ts';

/** The options of `signalbox tail`. */
export interface TailFlags extends ConnectionFlags {
  /** Show only events of this agent. */
  about?: string;
  orchestrator?: string;
  /** Print every event, not only the end of each call. With `json` all are printed anyway. */
  verbose?: boolean;
  json?: boolean;
}

/** Prints what happens to messages, tool calls and holds, live, until the process is asked to end. */
export async function tail(flags: TailFlags): Promise<void> {
  const { about, json = false, verbose = false } = flags;
  const stop = stopRequested();
  await withSession(flags, async (session) => {
    const { client } = session;
    const output = new TailOutput(json);
    const brief = new BriefTail();
    const following = followTail(client, {
      ...(about !== undefined && { agent: about }),
      orchestrator: orchestratorOf(session, flags),
      onEvent: (event) => {
        if (json || verbose || brief.isShown(event)) output.show(event);
      },
    });
    const started = await Promise.race([following, stop]);
    if (typeof started === 'string') return;
    using events = started;
    if (json) printJson({ what: 'following', url: client.url, agent: about ?? null });
    else printLines(`following ${about ?? 'all agents'} at ${client.url}; Ctrl-C ends it`);
    const end = await Promise.race([events.ended, stop]);
    if (end instanceof SignalboxError) throw end;
  });
}
