import { execFile } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { PostgresServer } from '@signalbox/postgres/temporary-server';
import type { RestartingProcess } from '../restarting-process.ts';
import type { EventKind, FaultEvent } from './plan.ts';
import { type Site, type SiteBroker, trustClock } from './site.ts';

const defaultLeaseMs = 10_000;
const hourMs = 3_600_000;
const run = promisify(execFile);
/** Settings with which each write of the log is synced, and no checkpoint comes for an hour. */
const logIsSynced = { wal_sync_method: 'open_datasync', checkpoint_timeout: '1h', max_wal_size: '8GB' };

/** The target of an event. */
export interface Targets {
  site: Site;
  broker: SiteBroker;
  orchestrator: Pick<RestartingProcess<unknown>, 'signal'>;
}

/** Carries out an event. Resolves when it has its effect, with the function that removes its cause. */
type Strike = (
  targets: Targets,
  event: FaultEvent,
) => Promise<undefined | { afterMs: number; heal: () => Promise<void> }>;

const stop =
  (partOfLease: (length: number) => number): Strike =>
  async ({ site, broker }, { length }) => {
    broker.process.signal('SIGSTOP');
    return {
      afterMs: leaseOf(site) * partOfLease(length),
      heal: async () => broker.process.signal('SIGCONT'),
    };
  };

export const strikes: Readonly<Record<EventKind, Strike>> = {
  kill: async ({ broker }) => void broker.process.signal('SIGKILL'),
  'kill both': async ({ site }) => {
    for (const broker of site.brokers) broker.process.signal('SIGKILL');
    return undefined;
  },
  terminate: async ({ broker: { process } }) => {
    const { exited } = process;
    process.signal('SIGTERM');
    return { afterMs: 0, heal: async () => void (await exited) };
  },
  pause: stop((length) => 0.2 + 0.4 * length),
  // The longest time is longer than a client needs to notice the cut.
  stop: stop((length) => 1.2 + 2.8 * length),
  'end connections': async ({ site }) => void (await site.endConnections()),
  'restart database': async ({ site }) => {
    await site.server.stop('immediate');
    return { afterMs: 0, heal: () => site.server.start() };
  },
  'power cut': async ({ site }, { length }) => {
    const lose = await startWithLoss(site.server, join(site.directory, 'synced'));
    // The brokers come back, and work on what will be lost but for the log.
    await delay(1000 + 3000 * length);
    await site.server.stop('immediate');
    return {
      afterMs: 0,
      heal: async () => {
        await lose();
        await site.server.start();
      },
    };
  },
  'cut off': async ({ site, broker }, { length, isSilent }) => {
    broker.proxy.cutOff(isSilent ? 'silently' : 'openly');
    return { afterMs: leaseOf(site) * (0.2 + 1.8 * length), heal: async () => broker.proxy.heal() };
  },
  clock: async ({ broker }, { length, hours, isTrusted }) => {
    broker.clock.set(hours * hourMs);
    if (isTrusted) await trustClock(broker);
    return { afterMs: 1000 + 4000 * length, heal: async () => broker.clock.set(0) };
  },
  'kill orchestrator': async ({ orchestrator }) => void orchestrator.signal('SIGKILL'),
};

/**
 * Starts a server again. The function that it returns, to be called when the server has ended, takes from its files all that a power cut
 * may take. Only the log is synced between two checkpoints, so the other files become those of the last checkpoint. A commit that was
 * confirmed before its part of the log was synced is lost with the memory of the server.
 */
async function startWithLoss(server: PostgresServer, synced: string): Promise<() => Promise<void>> {
  const { data } = server;
  await server.stop('fast');
  await rm(synced, { recursive: true, force: true });
  await run('cp', ['-a', data, synced]);
  await rm(join(synced, 'pg_wal'), { recursive: true });
  await server.start(logIsSynced);
  // It says that the server runs, and so must recover.
  await run('cp', ['-a', join(data, 'global/pg_control'), join(synced, 'global/pg_control')]);
  return async () => {
    for (const name of await readdir(data))
      if (name !== 'pg_wal') await rm(join(data, name), { recursive: true });
    await run('cp', ['-a', `${synced}/.`, data]);
  };
}

function leaseOf({ times }: Site): number {
  return times === 'command' ? defaultLeaseMs : times.leaseMs;
}
