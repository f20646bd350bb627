import { followTail, type TailEvent } from '@signalbox/client/operator';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { orchestratorOf } from '../connection/orchestrator-request.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { printJson, printLines, printNotes } from '../terminal/output.ts';
import { BriefTail } from './brief-tail.ts';
import { eventLine } from './event-line.ts';
import { checkKept, type TextEvent, TextFeed } from './text-feed.ts';

/** The options of `signalbox tail`. */
export interface TailFlags extends ConnectionFlags {
  /** Show only events of this agent. */
  about?: string;
  orchestrator?: string;
  /** Print every event, not only the end of each call. With `json` all are printed anyway. */
  verbose?: boolean;
  /** Also print what messages say. */
  bodies?: boolean;
  json?: boolean;
}

/** Prints what happens to messages, tool calls and holds, live, until the process is asked to end. */
export async function tail(flags: TailFlags): Promise<void> {
  const { about, json = false, verbose = false, bodies = false } = flags;
  const stop = stopRequested();
  await withClient(flags, async (connected) => {
    const { client } = connected;
    const output = new TailOutput(json);
    const brief = new BriefTail();
    if (bodies) await checkKept(client);
    const feed = new TextFeed(client, {
      onText: (event) => output.show(event),
      onFailure: (reason) => printNotes(`signalbox: some texts are not shown: ${reason}`),
    });
    const following = followTail(client, {
      ...(about !== undefined && { agent: about }),
      orchestrator: await orchestratorOf(connected, flags),
      onEvent: (event) => {
        const isShown = json || verbose || brief.isShown(event);
        if (isShown) output.show(event);
        if (isShown && bodies) feed.observe(event);
      },
    });
    const started = await Promise.race([following, stop]);
    if (typeof started === 'string') return;
    connected.waits[Symbol.dispose]();
    // It may be about to come, so it is followed in any case.
    if (about !== undefined && !json)
      await requireKnownAgent(connected, about, flags).catch((error) =>
        printNotes(`signalbox: ${messageOf(error)}`),
      );
    using events = started;
    if (json) printJson({ what: 'following', url: client.url, agent: about ?? null });
    else printLines(`following ${about ?? 'all agents'} at ${client.url}; Ctrl-C ends it`);
    const end = await Promise.race([events.ended, stop]);
    if (end instanceof SignalboxError) throw end;
  });
}

/** The largest number of bytes that may wait for the reader of standard output; further events are only counted. */
const maxWaitingBytes = 4 * 1024 * 1024;

/** Writes events to standard output, one on each line. A slow reader misses some and is told how many. */
class TailOutput {
  readonly #asJson: boolean;
  #missed = 0;

  constructor(asJson: boolean) {
    this.#asJson = asJson;
  }

  show(event: TailEvent | TextEvent): void {
    if (process.stdout.writableLength > maxWaitingBytes) {
      this.#missed++;
      return;
    }
    const missed = this.#missed;
    this.#missed = 0;
    if (missed > 0) this.#write({ what: 'missed', at: event.at, missed });
    this.#write(event);
  }

  #write(event: TailEvent | TextEvent): void {
    if (this.#asJson) printJson(event);
    else printLines(eventLine(event));
  }
}
