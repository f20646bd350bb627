import {
  forgetThread,
  type KeptMessage,
  listThreads,
  readThread,
  type ThreadsPage,
  type TranscriptEntry,
} from '@signalbox/client/operator';
import { bodyWithoutSecrets, shownExcerpt } from '@signalbox/mcp-host/redaction';
import { SignalboxError } from '@signalbox/protocol';
import { formatDuration, formatElapsed } from '@signalbox/protocol/duration';
import { quotedLines } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { orchestratorOf } from '../connection/orchestrator-request.ts';
import { bodyText, parsedBody } from '../messages/message-text.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { byteSize } from '../terminal/byte-size.ts';
import { cell, count, oneLine, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';

/** The options of `signalbox thread`. */
export interface ThreadFlags extends ConnectionFlags {
  /** The agent or group whose threads are listed. */
  about?: string;
  search?: string;
  after?: number;
  cursor?: number;
  limit?: number;
  forget?: boolean;
  orchestrator?: string;
  json?: boolean;
}

const defaultThreads = 50;
const defaultMessages = 200;

/** Lists threads, prints one, or forgets one. */
export async function thread(id: string | undefined, flags: ThreadFlags): Promise<void> {
  checkFlags(id, flags);
  if (id === undefined) return await list(flags);
  if (flags.forget) return await forget(id, flags);
  await print(id, flags);
}

function checkFlags(
  id: string | undefined,
  { about, search, after, cursor, forget: isForgotten }: ThreadFlags,
): void {
  const wrong =
    id === undefined
      ? { '--after': after, '--forget': isForgotten }
      : { '--agent': about, '--search': search, '--cursor': cursor };
  const [name] = Object.entries(wrong).find(([, value]) => value !== undefined) ?? [];
  if (name === undefined) return;
  const why = id === undefined ? 'needs the id of a thread' : 'is for the list, without the id of a thread';
  throw new SignalboxError('usage', `${name} ${why}`);
}

async function list(flags: ThreadFlags): Promise<void> {
  const { about: agent, search, cursor, limit = defaultThreads } = flags;
  const page = await withClient(flags, async (connected) => {
    const found = await listThreads(connected.client, { agent, search, cursor, limit });
    if (agent !== undefined && found.threads.length === 0) await requireKnownAgent(connected, agent, flags);
    return found;
  });
  const threads = page.threads.map((one) => ({ ...one, newest: shown(one.newest) }));
  if (flags.json) return printJson({ ...page, threads });
  if (threads.length === 0 && page.cursor === undefined) return printLines(...noneLines(page));
  const now = Date.now();
  const rows = threads.map(({ thread: name, messages, newest }) => [
    name,
    `${formatDuration(Math.max(0, now - newest.created_at))} ago`,
    messages >= 1000 ? '1000+' : String(messages),
    `${newest.from_agent} → ${newest.to}`,
    newest.text === undefined ? byteSize(newest.size) : oneLine(newest.text, 200),
  ]);
  printLines(
    tableLines(['THREAD', 'NEWEST', 'MESSAGES', 'FROM → TO', 'TEXT'], rows),
    '',
    page.cursor === undefined
      ? `${count(threads.length, 'thread')}; print one with: signalbox thread THREAD`
      : `There may be more: go on with --cursor ${page.cursor}.`,
  );
}

function noneLines({ keeps }: Pick<ThreadsPage, 'keeps'>): string[] {
  if (keeps) return [`no thread; what is kept: ${keptText(keeps)}`];
  return [
    'the broker keeps no bodies of messages',
    '  to keep them for a day: broker: { keepBodies: true } in signalbox.yaml, then signalbox down and up',
  ];
}

function keptText({ kinds, age_ms, bytes }: NonNullable<ThreadsPage['keeps']>): string {
  return `${kinds.join(', ')} of the last ${formatDuration(age_ms)}, at most ${byteSize(bytes)}`;
}

async function print(id: string, flags: ThreadFlags): Promise<void> {
  const { after, limit = defaultMessages } = flags;
  const transcript = await withClient(
    flags,
    async (connected) =>
      await readThread(connected.client, await orchestratorOf(connected, flags), {
        thread: id,
        after,
        limit,
      }),
  );
  const { callsMissing, keeps, more } = transcript;
  const entries = transcript.entries.map(shownEntry);
  if (callsMissing) printNotes(`signalbox: tool calls are not shown: ${callsMissing.message}`);
  if (entries.length === 0) {
    const none = keeps ? `nothing of the thread '${id}' is kept` : noneLines({ keeps })[0];
    throw new SignalboxError('unknown_thread', `${none}; signalbox thread lists what there is`);
  }
  if (flags.json)
    return printJson({
      thread: id,
      entries,
      more,
      keeps,
      ...(callsMissing && { calls_missing: callsMissing }),
    });
  printLines(...transcriptLines(entries));
  const last = entries.findLast(({ what }) => what === 'message');
  if (more && last?.what === 'message')
    printLines('', `There is more: go on with --after ${last.seq}, or raise --limit.`);
}

function transcriptLines(entries: readonly ShownEntry[]): string[] {
  return entries.flatMap((entry, at) => {
    const day = new Date(entry.at).toISOString().slice(0, 10);
    const before = entries[at - 1];
    const isNewDay = before === undefined || new Date(before.at).toISOString().slice(0, 10) !== day;
    return [...(isNewDay ? [...(at === 0 ? [] : ['']), day] : []), ...entryLines(entry)];
  });
}

function entryLines(entry: ShownEntry): string[] {
  const time = new Date(entry.at).toISOString().slice(11, 19);
  if (entry.what === 'message') {
    const { from_agent, to, kind, state, id, body, size } = entry;
    const end = state === undefined || state === 'acked' ? '' : ` (${state})`;
    const text =
      body === undefined
        ? [`  ${byteSize(size)}`]
        : quotedLines(bodyText(body, { indent: 2 })).map((line) => `  ${line}`);
    return [`${time}  ${from_agent} → ${to}  ${kind}${end}  ${id}`, ...text];
  }
  if (entry.what === 'call') {
    const { agent, tool, server, state, outcome, started_at, finished_at, request_bytes, reply_bytes } =
      entry;
    const took =
      finished_at === undefined ? '' : `, ${formatElapsed(finished_at - (started_at ?? entry.at))}`;
    const bytes = [request_bytes, reply_bytes].map((n) => (n === undefined ? '?' : byteSize(n))).join(' → ');
    return [
      `${time}    ${agent} called ${cell(toolLabel({ tool, server }))}: ${outcome ?? state}${took}, ${bytes}`,
    ];
  }
  const { tool, state, by, reason, id } = entry;
  const who = by === undefined ? '' : ` by ${by.agent}`;
  const why = reason === undefined ? '' : `: ${oneLine(reason, 100)}`;
  return [`${time}    approval ${id} of ${cell(toolLabel({ tool }))}: ${state}${who}${why}`];
}

async function forget(id: string, flags: ThreadFlags): Promise<void> {
  const forgotten = await withClient(flags, ({ client }) => forgetThread(client, id), {
    changes: !flags.json,
  });
  if (flags.json) return printJson({ forgotten });
  printLines(`${count(forgotten, 'message')} of thread '${id}' forgotten`);
}

type ShownEntry =
  | Exclude<TranscriptEntry, { what: 'message' }>
  | ({ what: 'message'; at: number } & ShownMessage);

function shownEntry(entry: TranscriptEntry): ShownEntry {
  return entry.what === 'message' ? { ...shown(entry), what: entry.what, at: entry.at } : entry;
}

/** A message with the value of its body, in which nothing has the form of a credential. */
type ShownMessage = Omit<KeptMessage, 'body'> & { body?: unknown };

function shown({ body, text, ...message }: KeptMessage): ShownMessage {
  return {
    ...message,
    ...(body !== undefined && { body: parsedBody(bodyWithoutSecrets(body)) }),
    ...(text !== undefined && { text: shownExcerpt(text) }),
  };
}
