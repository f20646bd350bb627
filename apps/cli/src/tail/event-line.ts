import { servedParts, type TailEvent } from '@signalbox/client/operator';
import type { CallRecord, TailNotice } from '@signalbox/protocol';
import { formatDuration, formatElapsed } from '@signalbox/protocol/duration';
import { holdSubject, holdText } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { keptText, turnText } from '../agents/turn-text.ts';
import { byteSize } from '../terminal/byte-size.ts';
import { cell, oneLine } from '../terminal/output.ts';
import type { TextEvent } from './text-feed.ts';

type MessageEvent = Extract<TailNotice, { message: unknown }>;

const shortIdLength = 8;
const wordLength = 9;
const detailLength = 120;
const textLength = 300;

/** Writes an event for people on one line: the time, what happened, and to which message. */
export function eventLine(event: TailEvent | TextEvent): string {
  const time = new Date(event.at).toISOString().slice(11);
  const [what = '', ...rest] = words(event).map(cell);
  return [time, what.padEnd(wordLength), ...rest].join('  ');
}

function words(event: TailEvent | TextEvent): string[] {
  switch (event.what) {
    case 'text':
      return ['text', ...shortId(event.id), oneLine(event.text, textLength)];
    case 'stored':
    case 'scheduled':
    case 'delivered':
    case 'settled':
      return messageWords(event);
    case 'refused': {
      const { from, code, detail, id } = event.refused;
      return [
        'refused',
        shortAddress(from.address),
        oneLine(`${code}: ${detail}`, detailLength),
        ...shortId(id),
      ];
    }
    case 'call':
      return callWords(event.call);
    case 'hold_placed':
      return ['held', oneLine(holdText(event.hold), detailLength)];
    case 'hold_ended':
      return ['hold over', `${holdSubject(event.hold)} (hold ${event.hold.id})`];
    case 'announced':
      return announcedWords(event);
    case 'missed':
      return ['missed', `${event.missed} events that came faster than they could be shown`];
    case 'gap':
      return [
        'note',
        `the broker ${event.broker} is gone or was silent; some of what happened there is missing here`,
      ];
    case 'calls_missing':
      return ['note', oneLine(`tool calls are not shown by name: ${event.message}`, detailLength)];
    case 'disconnected':
      return ['note', 'the broker is gone; what happens until it is back will be missing here'];
    case 'reconnected':
      return ['note', 'the broker is back; what happened meanwhile is missing here'];
  }
}

/** Tells what turns of a served agent run, or what another program announced for operators. */
function announcedWords({ at, from, private: part }: Extract<TailNotice, { what: 'announced' }>): string[] {
  const served = servedParts(part);
  if (!served) return ['status', from.agent, oneLine(JSON.stringify(part) ?? '-', detailLength)];
  const { running, kept = [] } = served;
  const turns = running.length === 0 ? ['none runs'] : running.map((turn) => turnText(turn, at));
  const processes = kept.map((process) => `keeps ${keptText(process, at)}`);
  return ['turns', from.agent, [...turns, ...processes].join('; ')];
}

function messageWords(event: MessageEvent): string[] {
  const { from, to, kind, id, correlation_id, created_at, size } = event.message;
  const age = created_at === undefined ? [] : [`after ${formatElapsed(event.at - created_at)}`];
  const about = [`${shortAddress(from.address)} → ${shortAddress(to)}`, kind, ...shortId(id)];
  switch (event.what) {
    case 'stored':
      return ['stored', ...about, byteSize(size ?? 0), ...answers(correlation_id)];
    case 'scheduled':
      return ['scheduled', ...about, `due in ${formatDuration(event.due_at - event.at)}`];
    case 'delivered':
      return ['delivered', ...about, ...(event.attempt > 1 ? [`attempt ${event.attempt}`] : [])];
    case 'settled': {
      const why = event.reason === undefined ? [] : [oneLine(event.reason, detailLength)];
      return [event.outcome, ...about, ...age, ...why];
    }
  }
}

function callWords({
  agent,
  tool,
  server,
  state,
  outcome,
  started_at,
  finished_at,
  request_id,
}: CallRecord): string[] {
  const took =
    started_at === undefined || finished_at === undefined
      ? ''
      : ` after ${formatElapsed(finished_at - started_at)}`;
  return ['call', agent, toolLabel({ tool, server }), `${outcome ?? state}${took}`, ...shortId(request_id)];
}

/** Returns the end of an id; its beginning is a time, which is the same for everything that happens at once. */
function shortId(id: string | undefined): string[] {
  if (id === undefined) return [];
  return [id.length <= shortIdLength ? id : `…${id.slice(-shortIdLength)}`];
}

/** Shortens the sub-inbox of an address, which is random for commands and tool calls. */
function shortAddress(address: string): string {
  const [agent = address, sub] = address.split('#');
  return sub === undefined ? agent : `${agent}#${shortId(sub).join('')}`;
}

function answers(correlationId: string | undefined): string[] {
  return shortId(correlationId).map((id) => `answers ${id}`);
}
