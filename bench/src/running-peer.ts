import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './external-program.ts';
import type { Measurement } from './measure.ts';
import type { Facts, Peer } from './peers/peer.ts';
import { startProcess } from './processes.ts';
import type { Workload } from './workloads.ts';

/** A running peer, with a process that makes load and one that consumes. */
export interface RunningPeer extends AsyncDisposable {
  peer: Peer;
  version: string;
  facts: Facts;
  run(workload: Workload, seconds: number): Promise<Measurement>;
}

/** The time that a run may take beyond its length, for operations in flight and for tidying up, in milliseconds. */
const answerTimeoutMs = 60_000;

export async function openPeer(peer: Peer): Promise<RunningPeer> {
  await using opened = new AsyncDisposableStack();
  // Each peer has its own directory right below the temporary one, because PostgreSQL's may belong to another user.
  const dir = await mkdtemp(join(tmpdir(), `signalbox-bench-${peer.name}-`));
  opened.defer(() => rm(dir, { recursive: true, force: true }));
  const { facts, version } = opened.use(await peer.start(dir));
  const { harness, name } = peer.inOtherCheckout ?? {
    harness: new URL('./', import.meta.url),
    name: peer.name,
  };
  const setup = { peer: name, facts, socket: join(dir, 'acks.sock') };
  const load = opened.use(await startProcess(new URL('load-process.ts', harness), setup));
  opened.use(await startProcess(new URL('consumer-process.ts', harness), setup));
  const resources = opened.move();
  return {
    peer,
    version,
    facts,
    run: async (workload, seconds) => {
      const measured = await load.ask<Measurement>({ workload, seconds }, seconds * 1000 + answerTimeoutMs);
      // Otherwise the page cache of one peer would be written during the fsyncs of the next.
      await runProgram({ command: 'sync', args: [] });
      return measured;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
