import type { BrokerOptions } from '@signalbox/broker';
import {
  auditEntries,
  connectWire,
  startTestBroker,
  storedRows,
  type TestBroker,
  type WireClient,
} from '@signalbox/testing';
import { expect } from 'vitest';

/**
 * A broker for tests of forged frames and tokens. It compares the message tables around each refused frame, and the
 * audit log with all refusals at the end.
 */
export interface AuditedBroker extends AsyncDisposable {
  readonly broker: TestBroker;
  readonly url: string;
  /** Returns the agent's one token; see `TestBroker.tokenOf`. */
  token(agent: string, role?: string): Promise<string>;
  /** Opens a connection on an address. It is subscribed unless an option says otherwise. */
  connect(address: string, options?: { role?: string; subscribe?: boolean }): Promise<WireClient>;
  /** Runs an `admin` operation as the operator. Returns its result or the error. */
  admin(op: string, params: Record<string, unknown>): Promise<Record<string, unknown>>;
  /**
   * Sends a frame, and expects this error and unchanged message tables. The audit log must hold the refusal once.
   */
  expectRefused(
    client: WireClient,
    frame: Record<string, unknown>,
    error: Record<string, unknown>,
    body?: string,
  ): Promise<void>;
  /** Runs the action and expects the same message tables afterwards. */
  expectUnchanged(action: () => Promise<unknown>): Promise<void>;
  /**
   * Stops the broker and expects exactly the refusals in the audit log that {@link expectRefused} saw, and `more`
   * (counts by `agent code`).
   */
  expectAudit(more?: Record<string, number>): Promise<void>;
}

export async function startAuditedBroker(options: Partial<BrokerOptions> = {}): Promise<AuditedBroker> {
  const broker = await startTestBroker({ durability: 'process', ...options });
  const clients: WireClient[] = [];
  const refusals = new Map<string, number>();
  const { url, dataDir } = broker;
  const connect: AuditedBroker['connect'] = async (address, { role, subscribe = true } = {}) => {
    const secret = await broker.tokenOf(address.split('#')[0]!, role);
    const client = await connectWire(url, { agent: address, token: secret });
    clients.push(client);
    if (!subscribe) return client;
    client.send({ type: 'subscribe', request_id: 'subscribe' });
    await client.next('subscribed');
    return client;
  };
  const operator = await connect('operator', { subscribe: false });
  /** Reads the tables after the commit with the acks that were sent so far. */
  const storedAfterAcks = async (): Promise<string> => {
    operator.send({ type: 'ack', seqs: [1], request_id: 'flush' });
    await operator.next('ack_result', { request_id: 'flush' });
    return await storedRows(dataDir);
  };
  const expectUnchanged: AuditedBroker['expectUnchanged'] = async (action) => {
    const before = await storedAfterAcks();
    await action();
    expect(await storedAfterAcks()).toBe(before);
  };
  return {
    broker,
    url,
    token: broker.tokenOf,
    connect,
    expectUnchanged,
    async admin(op, params) {
      operator.send({ type: 'admin', request_id: 'admin', op, params });
      const frame = await operator.next(['admin_result', 'error'], { request_id: 'admin' });
      return frame.type === 'error' ? frame : (frame.result as Record<string, unknown>);
    },
    expectRefused: (client, frame, error, body) =>
      expectUnchanged(async () => {
        const { agent } = client.received[0]!;
        client.send(frame, body);
        const answer = await client.next('error');
        expect(answer).toMatchObject({ ...error, retryable: false });
        const name = `${agent} ${answer.code}`;
        refusals.set(name, (refusals.get(name) ?? 0) + 1);
      }),
    async expectAudit(more = {}) {
      await broker.broker.stop();
      const found = new Map<string, number>();
      for (const entry of await auditEntries(dataDir, 'refusal')) {
        const { agent = '', code, count = 1 } = JSON.parse(entry);
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
