import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { openPage } from '../browser/chromium.ts';
import { interactions, views } from './interactions.ts';
import type { PageBroker } from './page-broker.ts';
import { type Answered, type PageProbe, probePage } from './page-probe.ts';
import { mostWithin, slope } from './statistics.ts';

/** The times of each interaction, by its name. */
export type Answers = Map<string, Answered[]>;

/** The memory of a page at a time, in minutes since the beginning. */
export interface MemorySample {
  at: number;
  heap: number;
  nodes: number;
  listeners: number;
}

/** The figures of one page. */
export interface PageReport {
  /** The times without any traffic, with the same agents and dead letters. */
  atRest: Answers;
  underLoad: Answers;
  memory: MemorySample[];
  /** The growth per minute after the first one: bytes of heap, nodes, listeners. NaN without samples of two times. */
  growth: { heap: number; nodes: number; listeners: number };
  /** The longest task of the page in milliseconds. */
  longestTaskMs: number;
  /** The requests per second of a page that nobody touches, by view, and the most within one second. */
  requests: Map<string, { perSecond: number; most: number }>;
  /** The answers with an HTTP status from 400 on. */
  refusals: string[];
  /** Errors of scripts. */
  problems: string[];
}

const sampleEveryMs = 30_000;
/** The time for which the requests of a view are counted, in milliseconds. */
const lookMs = 8000;

/** Uses one page without traffic, then under load for some time, and looks at each view for a while. */
export async function usePage(
  browser: Browser,
  broker: PageBroker,
  { minutes, beginTraffic, onSample }: UseOptions,
): Promise<PageReport> {
  await using opened = await openPage(browser);
  const { page, problems } = opened;
  const probe = await probePage(page);
  const requests: number[] = [];
  const refusals: string[] = [];
  page.on('request', (request) => void (request.url().endsWith('/api/events') || requests.push(Date.now())));
  page.on('response', (response) => {
    if (response.status() >= 400) refusals.push(`${response.status()} ${new URL(response.url()).pathname}`);
  });
  await page.goto(await broker.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  // The first use of each view is not measured: code is loaded and compiled then.
  await useAll(page, probe, new Map());
  const atRest: Answers = new Map();
  await useAll(page, probe, atRest);
  await beginTraffic();
  await probe.longTasks();
  const underLoad: Answers = new Map();
  const memory: MemorySample[] = [];
  const begun = performance.now();
  const elapsed = (): number => performance.now() - begun;
  for (let next = 0; elapsed() < minutes * 60_000; ) {
    await useAll(page, probe, underLoad);
    if (elapsed() < next) continue;
    next = elapsed() + sampleEveryMs;
    await menu(page, 'Needs attention').click();
    // Notices go away by themselves.
    await page.locator('.notice').first().waitFor({ state: 'detached' });
    const sample = { at: elapsed() / 60_000, ...(await probe.memory()) };
    memory.push(sample);
    onSample(sample);
  }
  const longestTaskMs = Math.max(0, ...(await probe.longTasks()));
  const perView: PageReport['requests'] = new Map();
  for (const view of views) {
    await menu(page, view).click();
    await pause(1500);
    requests.length = 0;
    await pause(lookMs);
    perView.set(view, { perSecond: (1000 * requests.length) / lookMs, most: mostWithin(requests, 1000) });
  }
  // In the first minute the page sees each view under load for the first time.
  const lasting = memory.filter(({ at }) => at >= 1);
  const growthOf = (figure: 'heap' | 'nodes' | 'listeners'): number =>
    slope(lasting.map((sample) => ({ at: sample.at, value: sample[figure] })));
  const growth = { heap: growthOf('heap'), nodes: growthOf('nodes'), listeners: growthOf('listeners') };
  return { atRest, underLoad, memory, growth, longestTaskMs, requests: perView, refusals, problems };
}

interface UseOptions {
  /** The time for which the page is used under load, in milliseconds. */
  minutes: number;
  beginTraffic: () => Promise<unknown>;
  onSample: (sample: MemorySample) => void;
}

async function useAll(page: Page, probe: PageProbe, answers: Answers): Promise<void> {
  for (const [name, act] of Object.entries(interactions))
    answers.set(name, [...(answers.get(name) ?? []), ...(await act(page, probe))]);
}

function menu(page: Page, view: string) {
  return page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view });
}
