import { splitFrames } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../../test/hand-clock.ts';
import { brokerError } from '../errors.ts';
import { Outbox } from '../socket/outbox.ts';
import { DeadlineTable } from './deadline-table.ts';
import { DeliveryTable } from './delivery-table.ts';

/** A table on a hand-moved clock, with a socket that notes what leaves. */
function openTable() {
  const clock = new HandClock();
  const outbox = new Outbox(clock);
  const table = new DeliveryTable({ outbox, deadlines: new DeadlineTable(clock), clock });
  const left: Record<string, unknown>[] = [];
  const heard: string[] = [];
  const connect = () => {
    outbox.attach((text) => {
      left.push(...[...splitFrames(text)].map(({ header }) => JSON.parse(header)));
    });
    table.resume();
  };
  connect();
  return {
    table,
    left,
    heard,
    connect,
    disconnect() {
      outbox.detach();
      table.disconnected();
    },
    add: (
      name: string,
      options: { id?: string; expiresAt?: number; retry?: boolean; anyBroker?: boolean } = {},
    ) =>
      table.add({
        frame: { type: 'deliver', to: name, id: options.id ?? name, kind: 'note' },
        body: undefined,
        ...(options.expiresAt !== undefined && { expiresAt: options.expiresAt }),
        owner: {
          receipted: (duplicate) => heard.push(`${name} receipted${duplicate ? ' again' : ''}`),
          refused: (error, mayBeStored) => {
            heard.push(`${name} ${error.code}${mayBeStored ? ' uncertain' : ''}`);
            return options.retry ?? false;
          },
          brokerReplaced: () => {
            heard.push(`${name} replaced`);
            return options.anyBroker ?? false;
          },
          closed: (error) => heard.push(`${name} ${error.code}`),
        },
      }),
    flush: () => outbox.flush(),
    advance: (toMs: number) => clock.advance(toMs),
  };
}

const busy = { type: 'error', code: 'inbox_full', message: 'full', retryable: true } as const;

describe('the delivery table', () => {
  it('sends what has no receipt again on the next connection, in order, with what is left of its lifetime', () => {
    const { table, add, left, flush, disconnect, connect, advance, heard } = openTable();
    for (const name of ['a', 'b', 'c']) add(name, { expiresAt: 1_000 });
    flush();
    table.receipted('b', false, false);
    disconnect();
    advance(400);
    add('d');
    connect();
    flush();
    expect(left.map(({ id, ttl_ms }) => [id, ttl_ms])).toEqual([
      ['a', 1_000],
      ['b', 1_000],
      ['c', 1_000],
      ['a', 600],
      ['c', 600],
      ['d', undefined],
    ]);
    table.receipted('a', true, false);
    expect(heard).toEqual(['b receipted', 'a receipted again']);
  });

  it('tells the owner if an earlier sending may be stored although this one was refused', () => {
    const { table, add, flush, disconnect, connect, heard } = openTable();
    add('sent-before');
    flush();
    disconnect();
    connect();
    add('new');
    flush();
    table.refused('sent-before', busy);
    table.refused('new', busy);
    expect(heard).toEqual(['sent-before inbox_full uncertain', 'new inbox_full']);
  });

  it('tries a refused one again after the time the broker named, if its owner wants that', () => {
    const { table, add, left, flush, advance } = openTable();
    add('a', { retry: true });
    flush();
    table.refused('a', { ...busy, retry_after_ms: 700 });
    advance(600);
    flush();
    expect(left).toHaveLength(1);
    advance(700);
    flush();
    expect(left).toHaveLength(2);
  });

  it('gives up what another broker may have stored, but nothing that never left or that its owner wants sent again', () => {
    const { table, add, left, flush, disconnect, connect, heard } = openTable();
    add('receipted');
    add('sent');
    add('reply', { anyBroker: true });
    add('same id, not sent', { id: 'sent' });
    const dropped = add('dropped');
    flush();
    table.receipted('receipted', false, false);
    table.drop(dropped);
    disconnect();
    add('new');
    table.brokerReplaced();
    connect();
    flush();
    expect(left.slice(4).map(({ to }) => to)).toEqual(['reply', 'new', 'same id, not sent']);
    expect(heard).toEqual(['receipted receipted', 'sent replaced', 'reply replaced']);
  });

  it('waits for the next connection when the broker is shutting down', () => {
    const { table, add, left, flush, disconnect, connect, heard } = openTable();
    const deliver = add('a');
    flush();
    table.refused('a', { ...busy, code: 'shutting_down' });
    expect(deliver.mayBeStored).toBe(false);
    disconnect();
    connect();
    flush();
    expect(left).toHaveLength(2);
    expect(heard).toEqual([]);
  });

  it('never gives the answer to one deliver to another with the same id', () => {
    const { table, add, left, flush, heard } = openTable();
    const first = add('one', { id: 'same' });
    add('two', { id: 'same' });
    flush();
    expect(left.map(({ to }) => to)).toEqual(['one']);
    table.drop(first);
    flush();
    expect(left).toHaveLength(1);
    table.receipted('same', false, false);
    flush();
    expect(left.map(({ to }) => to)).toEqual(['one', 'two']);
    table.receipted('same', false, false);
    expect(heard).toEqual(['two receipted']);
  });

  it('does not send what was dropped before it left', () => {
    const { table, add, left, flush } = openTable();
    table.drop(add('gone'));
    add('kept');
    flush();
    expect(left.map(({ to }) => to)).toEqual(['kept']);
  });

  it('ends everything once when the client is closed', () => {
    const { table, add, heard } = openTable();
    add('one', { id: 'same' });
    add('two', { id: 'same' });
    const error = brokerError({ ...busy, code: 'unauthorized', retryable: false });
    table.endAll(error);
    table.endAll(error);
    expect(heard).toEqual(['one unauthorized', 'two unauthorized']);
  });
});
