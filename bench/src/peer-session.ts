import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './external-program.ts';
import type { Measurement } from './measure.ts';
import type { Peer } from './peers/peer.ts';
import { startProcess } from './processes.ts';
import type { Workload } from './workloads.ts';

/** A peer that is up, with a process that makes load and one that consumes. */
export interface PeerSession extends AsyncDisposable {
  peer: Peer;
  version: string;
  run(workload: Workload, seconds: number): Promise<Measurement>;
}

/** How long a run may take beyond its time, for what is in flight and the tidying after it. */
const answerTimeoutMs = 60_000;

export async function openPeer(peer: Peer): Promise<PeerSession> {
  await using opened = new AsyncDisposableStack();
  // Each has a directory of its own right under the temporary one, because PostgreSQL's may belong to another user.
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
    run: async (workload, seconds) => {
      const measured = await load.ask<Measurement>({ workload, seconds }, seconds * 1000 + answerTimeoutMs);
      // What one peer has left to the page cache would otherwise be written during the fsyncs of the next.
      await runProgram({ command: 'sync', args: [] });
      return measured;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
