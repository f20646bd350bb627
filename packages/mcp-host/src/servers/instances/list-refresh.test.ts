import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ServerConnection } from '../../server-connection.ts';
import { ListReadings } from '../list-readings.ts';
import { ListRefresh } from './list-refresh.ts';

/** A server that changes its list all the time, and a clock that jumps from one event to the next. */
function newStorm(readMs: number) {
  let now = 0;
  let changes = 0;
  const pauses: { until: number; over: () => void }[] = [];
  const wait = (ms: number) =>
    new Promise<void>((over) => {
      pauses.push({ until: now + ms, over });
    });
  const read: { at: number; changes: number }[] = [];
  const connection = { isOpen: true } as ServerConnection;
  const refresh = new ListRefresh<number>({
    what: 'tools',
    now: () => now,
    random: () => 1,
    readings: new ListReadings(),
    stop: new AbortController().signal,
    wait,
    connection: () => connection,
    read: async () => {
      const seen = changes;
      if (readMs > 0) await wait(readMs);
      return seen;
    },
    onList: (seen) => read.push({ at: now, changes: seen }),
    onProblem: () => {},
  });
  return {
    read,
    /** Lets a millisecond pass, with a change that the server announces. */
    async changeOnce() {
      changes++;
      refresh.announce();
      now++;
      for (const pause of pauses.filter(({ until }) => until <= now)) {
        pauses.splice(pauses.indexOf(pause), 1);
        pause.over();
      }
      await nextTurn();
    },
  };
}

test.each([0, 100])(
  'With a change announced each millisecond the list lags by a second at most, and is read about once a second; a reading takes %d ms.',
  async (readMs) => {
    const { read, changeOnce } = newStorm(readMs);
    let known = 0;
    let worstLag = 0;
    for (let changes = 1; changes <= 20_000; changes++) {
      await changeOnce();
      known = read.at(-1)?.changes ?? 0;
      worstLag = Math.max(worstLag, changes - known);
    }
    // The oldest change that is not known yet came so long ago: a pause, and the reading that ends it.
    expect(worstLag).toBeLessThanOrEqual(1_000 + readMs + 2);
    expect(worstLag).toBeGreaterThan(900);
    expect(read.length).toBeGreaterThanOrEqual(18);
    expect(read.length).toBeLessThanOrEqual(30);
  },
);
