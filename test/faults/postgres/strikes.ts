import type { RestartingProcess } from '../restarting-process.ts';
import type { EventKind, FaultEvent } from './plan.ts';
import { type Site, type SiteBroker, trustClock } from './site.ts';

const defaultLeaseMs = 10_000;
const hourMs = 3_600_000;

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

function leaseOf({ times }: Site): number {
  return times === 'command' ? defaultLeaseMs : times.leaseMs;
}
