import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient, ServeLoop } from '@signalbox/client';
import { type Message, SignalboxError } from '@signalbox/protocol';
import { explain, openClient } from '../broker-connection/client-session.ts';
import { type ConnectionFlags, resolveConnection } from '../broker-connection/connection.ts';
import { announceReady } from '../daemons/announce-ready.ts';
import { bodyText, printable } from '../messages/message-text.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { oneLine, printJson, printLines } from '../terminal/output.ts';
import { noOwnToken, requireOwnToken } from './own-token.ts';

export interface EchoFlags extends ConnectionFlags {
  /** How long each answer takes, in milliseconds. */
  delay?: number;
  json?: boolean;
}

/** Is a worker without a model until the process is asked to end: answers with what it is asked, and prints all it gets. */
export async function runEcho(flags: EchoFlags): Promise<void> {
  requireOwnToken(flags);
  const connection = await resolveConnection(flags);
  if (connection.minting) throw noOwnToken('a minting token is for no agent, so that nobody can write to it');
  const stop = stopRequested();
  await using client = await openClient(connection, connection.agent);
  if (client.role === 'operator') throw noOwnToken('this is the operator’s token; a worker needs its own');
  // The first line says that it is ready; what waited before is served after it.
  const ready = Promise.withResolvers<void>();
  const loops = await serve(client, flags, { ready: ready.promise, stop });
  const { agent, address, role } = client;
  announceReady(
    { agent, address, role, url: connection.url, pid: process.pid },
    [`${address} (${role}) answers every ask and task with its own text; Ctrl-C ends it`],
    flags,
  );
  ready.resolve();
  const end = await Promise.race([client.closed, stop]);
  await Promise.all(loops.map((loop) => loop.stop()));
  if (end instanceof SignalboxError) throw explain(end, connection.url);
}

async function serve(
  client: BrokerClient,
  flags: EchoFlags,
  { ready, stop }: { ready: Promise<void>; stop: Promise<string> },
): Promise<ServeLoop[]> {
  const stopping = new AbortController();
  void stop.then(() => stopping.abort());
  let running = 0;
  const change = (by: 1 | -1): void => {
    running += by;
    client.announce({ worker: 'echo', state: running > 0 ? 'working' : 'idle' });
  };
  client.announce({ worker: 'echo', state: 'idle' });
  const requests = await client.serve(['ask', 'task'], async ({ message, json, signal }) => {
    await ready;
    show(message, flags);
    change(1);
    try {
      await wait(flags.delay, AbortSignal.any([signal, stopping.signal]));
    } finally {
      change(-1);
    }
    return signal.aborted ? undefined : { kind: 'reply', body: json ?? null };
  });
  const others = await client.serve(['note', 'event'], async ({ message }) => {
    await ready;
    show(message, flags);
    return undefined;
  });
  return [requests, others];
}

/** Ends early if nobody waits for the answer any more, or the worker is to end. */
async function wait(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (ms !== undefined) await delay(ms, undefined, { signal }).catch(() => {});
}

function show(message: Message, { json }: EchoFlags): void {
  const readable = printable(message);
  const text = oneLine(bodyText(readable.body), 100);
  if (json) printJson({ message: readable });
  else
    printLines(`${new Date().toISOString().slice(11)}  ${message.kind} from ${message.from.agent}: ${text}`);
}
