import { type BrokerOptions, brokerFiles } from '@signalbox/broker';
import { openSqliteAuditLog } from '@signalbox/store';
import {
  connectWire,
  startTestBroker,
  storedRows,
  type TestBroker,
  type WireClient,
} from '@signalbox/testing';
import { expect } from 'vitest';

/** A broker where honest agents work and somebody tries to be one of them. */
export interface Court extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly url: string;
  /** One token an agent, however often it is asked for. */
  token(agent: string, role?: string): Promise<string>;
  /** A new connection on an address, subscribed unless told otherwise. */
  connect(address: string, options?: { role?: string; subscribe?: boolean }): Promise<WireClient>;
  /** An `admin` operation of the operator: its result, or the error. */
  admin(op: string, params: Record<string, unknown>): Promise<Record<string, unknown>>;
  /**
   * Sends a frame that has to be refused, and compares the message tables before and after. Resolves with the error;
   * the audit has to know of it, once.
   */
  refused(
    client: WireClient,
    frame: Record<string, unknown>,
    error: Record<string, unknown>,
    body?: string,
  ): Promise<void>;
  /** Runs what has to change nothing, and compares the message tables before and after. */
  unchanged(action: () => Promise<unknown>): Promise<void>;
  /** Stops the broker and compares the audit of refusals with what {@link refused} saw, plus `more`: `agent code` → count. */
  judge(more?: Record<string, number>): Promise<void>;
}

export async function openCourt(options: Partial<BrokerOptions> = {}): Promise<Court> {
  const broker = await startTestBroker({ durability: 'process', ...options });
  const clients: WireClient[] = [];
  const tokens = new Map<string, Promise<string>>();
  const refusals = new Map<string, number>();
  const { url, dataDir } = broker;
  const token = (agent: string, role?: string): Promise<string> => {
    const known =
      tokens.get(agent) ?? (agent === 'operator' ? broker.operatorToken() : broker.token(agent, role));
    tokens.set(agent, known);
    return known;
  };
  const connect: Court['connect'] = async (address, { role, subscribe = true } = {}) => {
    const secret = await token(address.split('#')[0]!, role);
    const client = await connectWire(url, { agent: address, token: secret });
    clients.push(client);
    if (!subscribe) return client;
    client.send({ type: 'subscribe', request_id: 'subscribe' });
    await client.next('subscribed');
    return client;
  };
  const operator = await connect('operator', { subscribe: false });
  /** Acks ride with a later commit; the tables are compared when that is done. */
  const settled = async (): Promise<string> => {
    operator.send({ type: 'ack', seqs: [1], request_id: 'flush' });
    await operator.next('ack_result', { request_id: 'flush' });
    return storedRows(dataDir);
  };
  const unchanged: Court['unchanged'] = async (action) => {
    const before = await settled();
    await action();
    expect(await settled()).toBe(before);
  };
  return {
    broker,
    url,
    token,
    connect,
    unchanged,
    async admin(op, params) {
      operator.send({ type: 'admin', request_id: 'admin', op, params });
      const frame = await operator.next(['admin_result', 'error'], { request_id: 'admin' });
      return frame.type === 'error' ? frame : (frame.result as Record<string, unknown>);
    },
    refused: (client, frame, error, body) =>
      unchanged(async () => {
        const { agent } = client.received[0]!;
        client.send(frame, body);
        const answer = await client.next('error');
        expect(answer).toMatchObject({ ...error, retryable: false });
        const name = `${agent} ${answer.code}`;
        refusals.set(name, (refusals.get(name) ?? 0) + 1);
      }),
    async judge(more = {}) {
      await broker.broker.stop();
      await using audit = await openSqliteAuditLog({ file: brokerFiles(dataDir).audit });
      const found = new Map<string, number>();
      for (const { agent = '', code, count } of await audit.query(0, 10_000)) {
        if (code === 'token_issued' || code === 'token_revoked') continue;
        found.set(`${agent} ${code}`, (found.get(`${agent} ${code}`) ?? 0) + count);
      }
      const expected = new Map(refusals);
      for (const [name, count] of Object.entries(more)) {
        expected.set(name, (expected.get(name) ?? 0) + count);
      }
      expect(Object.fromEntries([...found].sort())).toEqual(Object.fromEntries([...expected].sort()));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
      await broker[Symbol.asyncDispose]();
    },
  };
}
