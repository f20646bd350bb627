import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { openPage, type TestPage } from '../browser/chromium.ts';
import type { PageBroker } from './page-broker.ts';

/** The processor time of the broker in milliseconds for each second, and how long it held its event loop up at most. */
export interface BrokerCost {
  cpuMs: number;
  heldUpMs: number;
}

const looked = ['', 'agents', 'timeline', 'dead', 'calls'];

/** Measures what the broker uses during a time. */
export async function costOf(broker: PageBroker, ms: number): Promise<BrokerCost> {
  const before = await broker.figures();
  const begun = performance.now();
  await pause(ms);
  const after = await broker.figures();
  const seconds = (performance.now() - begun) / 1000;
  return { cpuMs: (after.cpuMicros - before.cpuMicros) / 1000 / seconds, heldUpMs: after.heldUpMs };
}

/**
 * Measures what the broker uses with no page, with one and with five of different people, each at another view, `rounds` times in turn.
 * The first costs are those of no page.
 */
export async function costOfPages(
  browser: Browser,
  broker: PageBroker,
  { rounds, ms }: { rounds: number; ms: number },
): Promise<Map<number, BrokerCost[]>> {
  const people = await Promise.all(looked.map((_, index) => broker.person(`person-${index + 1}`)));
  const costs = new Map<number, BrokerCost[]>([0, 1, people.length].map((count) => [count, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [count, of] of costs) {
      await using pages = new AsyncDisposableStack();
      for (const [index, token] of people.slice(0, count).entries()) {
        const { page } = pages.use<TestPage>(await openPage(browser));
        await page.goto(await broker.link(token));
        await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
        // A single page is at another view in each round.
        const view = looked[(index + (count === 1 ? round : 0)) % looked.length];
        await page.goto(`${broker.origin}/ui/#/${view}`);
      }
      // The first reads of the pages, and the work of pages that were closed, are over.
      await pause(3000);
      of.push(await costOf(broker, ms));
    }
  }
  return costs;
}
