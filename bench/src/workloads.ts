import { randomBytes } from 'node:crypto';
import type { Body, PeerClient } from './peers/peer.ts';

/**
 * `enqueue`: a message into a queue that nobody reads, until its receipt. `consume`: a message until a consumer in another
 * process has taken and acked it. `request`: a stored request until its stored reply is here.
 */
export type Operation = 'enqueue' | 'consume' | 'request';

/** One thing that every peer is made to do: `clients` connections with `inFlight` operations each, bodies of `bytes`. */
export interface Workload {
  /** `request/64/300B`, as in `--workloads`. */
  name: string;
  operation: Operation;
  clients: number;
  inFlight: number;
  bytes: number;
}

export const operations: readonly Operation[] = ['enqueue', 'consume', 'request'];

export const shapes = [
  { shape: '1', title: '1 in flight', clients: 1, inFlight: 1 },
  { shape: '64', title: '64 in flight', clients: 1, inFlight: 64 },
  { shape: '8x8', title: '8 clients × 8', clients: 8, inFlight: 8 },
  { shape: '50x8', title: '50 clients × 8', clients: 50, inFlight: 8 },
] as const;

export const sizes = [
  { size: '300B', title: '300 B', bytes: 300 },
  { size: '8KB', title: '8 KB', bytes: 8 * 1024 },
  { size: '256KB', title: '256 KB', bytes: 256 * 1024 },
] as const;

export const workloads: readonly Workload[] = operations.flatMap((operation) =>
  sizes.flatMap(({ size, bytes }) =>
    shapes.map(({ shape, clients, inFlight }) => ({
      name: `${operation}/${shape}/${size}`,
      operation,
      clients,
      inFlight,
      bytes,
    })),
  ),
);

/**
 * The operation of a workload, for one lane of `measure`. `acked` resolves when the consumer has acked a message by its
 * number.
 */
export function operationOf(
  workload: Workload,
  clients: readonly PeerClient[],
  ports: { nextNumber: () => number; acked: (n: number) => Promise<void> },
): (lane: number) => Promise<void> {
  const text = textOf(workload.bytes);
  const body = (): Body => ({ n: ports.nextNumber(), text });
  const clientOf = (lane: number): PeerClient => clients[lane % clients.length]!;
  switch (workload.operation) {
    case 'enqueue':
      return async (lane) => void (await clientOf(lane).enqueue('pile', body()));
    case 'consume':
      return async (lane) => {
        const message = body();
        const acked = ports.acked(message.n);
        await clientOf(lane).enqueue('sink', message);
        await acked;
      };
    case 'request':
      return async (lane) => {
        const message = body();
        const reply = await clientOf(lane).request(message);
        if (reply.n !== message.n || reply.text.length !== text.length) {
          throw new Error(`request ${message.n} got the reply to ${reply.n}`);
        }
      };
  }
}

/** Text that makes the body's JSON about that long. Random, so that a peer that compresses gains nothing by it. */
function textOf(bytes: number): string {
  return randomBytes(bytes)
    .toString('base64url')
    .slice(0, bytes - 24);
}
