import { Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import type { DirectCalls } from './direct-calls.ts';
import type { HttpRefusal } from './http-refusal.ts';
import type { HttpReply, ReplyHead } from './http-reply.ts';
import { LegacySessions } from './legacy-sessions.ts';
import { PastAnswers, pastRoom } from './past-answers.ts';
import { sessionIdsOf } from './session-id.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'c', version: '1' },
    capabilities: {},
  },
} as const;
const ping = { jsonrpc: '2.0', id: 2, method: 'ping' } as const;

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/** A reply to nobody, which records its status and its headers. */
class RecordedReply implements HttpReply {
  readonly takesEvents = false;
  readonly isClosed = false;
  readonly #answer = Promise.withResolvers<Answer>();
  readonly answered = this.#answer.promise;
  onHangUp: undefined;
  onStream: undefined;

  json(_message: unknown, { headers = {} }: ReplyHead = {}): void {
    this.#answer.resolve({ status: 200, headers });
  }

  refuse({ status, headers = {} }: HttpRefusal): void {
    this.#answer.resolve({ status, headers });
  }

  end(status = 202): void {
    this.#answer.resolve({ status, headers: {} });
  }

  tell = () => false;
  openStream = () => {};
  keepSlot = () => () => {};
  pass = async () => {};
}

test('However many sessions begin and wake at once, no more are awake than may be.', async () => {
  const open = new Set<Server>();
  const sessions = new LegacySessions({
    createServer: () => {
      const server = new Server(
        { name: 's', version: '1' },
        { capabilities: { tools: { listChanged: true } } },
      );
      open.add(server);
      server.onclose = () => void open.delete(server);
      const directCalls = { attach: () => {}, open: () => {} } as unknown as DirectCalls;
      return { server, directCalls };
    },
    onEnded: () => new Promise(setImmediate),
    ids: sessionIdsOf('a token'),
    maxSessions: 3,
    idleMs: 1000,
    past: new PastAnswers('agent', pastRoom(), () => 0),
    now: () => 0,
  });
  const ask = async (message: object, id?: string) => {
    const reply = new RecordedReply();
    const headers = id === undefined ? {} : { 'mcp-session-id': id };
    await sessions.answer({ method: 'POST', message, headers }, reply);
    return await reply.answered;
  };
  const begun = await Promise.all(Array.from({ length: 20 }, () => ask(initialize)));
  const ids = begun.map(({ headers }) => headers['mcp-session-id']!);
  expect([new Set(ids).size, sessions.size]).toEqual([20, 3]);
  const statuses = (await Promise.all(ids.map((id) => ask(ping, id)))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(3);
  // Those that found no place, because so many woke at once, are told so.
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(sessions.size).toBe(3);
  expect((await ask(ping, ids[0])).status).toBe(200);
  await sessions.close();
  expect(open.size).toBe(0);
});
