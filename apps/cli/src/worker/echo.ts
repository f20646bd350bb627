import { requireFreeInbox } from '@signalbox/client/internal';
import { type Message, permissionsOfRole, SignalboxError } from '@signalbox/protocol';
import { startEchoWorker } from '@signalbox/worker/internal';
import { openClient, withConnectionHint } from '../connection/connected-client.ts';
import { type ConnectionFlags, resolveConnection } from '../connection/connection.ts';
import { announceReady } from '../daemons/announce-ready.ts';
import { bodyText, parsedBody, withParsedBody } from '../messages/message-text.ts';
import { firstEnd, stopRequested } from '../process/stop-signals.ts';
import { oneLine, printJson, printLines } from '../terminal/output.ts';
import { noOwnToken, requireOwnToken } from './own-token.ts';
import { refuseInTurn } from './refuse-in-turn.ts';

/** The options of `signalbox worker echo`. */
export interface EchoFlags extends ConnectionFlags {
  /** The time that each answer takes, in milliseconds. */
  delay?: number;
  takeOver?: boolean;
  json?: boolean;
}

/** Runs a worker without a model until the process is asked to end, and prints each message that it gets. */
export async function runEcho(flags: EchoFlags): Promise<void> {
  requireOwnToken(flags);
  const connection = await resolveConnection(flags);
  if (connection.mintingPattern !== undefined)
    throw noOwnToken('a minting token is for no agent, so that nobody can write to it');
  refuseInTurn(connection.agent, process.env);
  const stop = stopRequested();
  await using client = await openClient(connection, connection.agent);
  if (permissionsOfRole(client.role).length > 0)
    throw noOwnToken('this is a token of an operator; a worker needs its own');
  if (!flags.takeOver) await requireFreeInbox(client);
  // The first line says that the worker is ready; messages that waited before are printed after it.
  const announced = Promise.withResolvers<void>();
  await using _worker = await startEchoWorker(client, {
    ...(flags.delay !== undefined && { delayMs: flags.delay }),
    onMessage: async (message) => {
      await announced.promise;
      print(message, flags);
    },
  });
  const { agent, address, role, url } = client;
  announceReady(
    { agent, address, role, url, pid: process.pid },
    [`${address} (${role}) answers every ask and task with its own text; Ctrl-C ends it`],
    flags,
  );
  announced.resolve();
  const end = await firstEnd<unknown>(client.closed, stop);
  if (end instanceof SignalboxError) throw withConnectionHint(end, connection);
}

function print(message: Message, { json }: EchoFlags): void {
  const text = oneLine(bodyText(parsedBody(message.body)), 100);
  if (json) printJson({ message: withParsedBody(message) });
  else
    printLines(`${new Date().toISOString().slice(11)}  ${message.kind} from ${message.from.agent}: ${text}`);
}
