import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { tempDir } from '@signalbox/testing';
import { startBrowser } from '../support/browser/chromium.ts';
import { costOfPages } from '../support/page-load/broker-cost.ts';
import { measureFairShare, type Waited } from '../support/page-load/fair-share.ts';
import { startFleet } from '../support/page-load/fleet.ts';
import { measureUnwatched } from '../support/page-load/nobody-looks.ts';
import { startPageBroker } from '../support/page-load/page-broker.ts';

import { usePage } from '../support/page-load/page-under-load.ts';
import { quantile } from '../support/page-load/statistics.ts';

/**
 * The dashboard in a real Chromium on a busy broker: how long the page takes from an input to the next paint, whether its memory grows,
 * what it asks for, what open pages cost the broker, and what it costs when nobody looks. Exits with an error beyond the bounds.
 */
const { values } = parseArgs({
  options: {
    agents: { type: 'string' },
    letters: { type: 'string' },
    events: { type: 'string' },
    minutes: { type: 'string' },
    only: { type: 'string' },
  },
});
const agents = Number(values.agents ?? 1000);
const letters = Number(values.letters ?? 10_000);
const events = Number(values.events ?? 200);
const minutes = Number(values.minutes ?? 5);
const only = new RegExp(values.only ?? '');

const bounds = {
  /** The longest time from an input to the next paint. */
  paintMs: 100,
  /** The most growth of memory in a minute, as a share of its size. A leak of one row for each event would be ten times that. */
  growthShare: 0.02,
  /** The most requests of a page that nobody touches. */
  requestsPerSecond: 3,
  /** The most cost of agents' messages beside a dashboard that nobody looks at, as a multiple of the cost without it. */
  unwatched: 1.02,
  /** The random error of that multiple. */
  unwatchedError: 0.02,
  /** The most by which an honest pair waits longer beside pages that ask as fast as they may. */
  laterMs: 100,
};

const problems: string[] = [];
const print = (line = ''): void => void process.stdout.write(`${line}\n`);
const row = (...cells: (string | number)[]): void =>
  print(
    `| ${cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(cell < 10 ? 1 : 0) : cell)).join(' | ')} |`,
  );
const head = (...titles: string[]): void => {
  row(...titles);
  row(...titles.map(() => '---'));
};
const check = (isGood: boolean, problem: string): void => {
  if (!isGood) problems.push(problem);
};

print(
  `${agents} agents, ${letters} dead letters, ${events} events a second; ${cpus().length} processors, load ${loadavg()[0]?.toFixed(1)}`,
);
await using directory = await tempDir();
await using browser = await startBrowser();

if (only.test('page') || only.test('cost') || only.test('fair')) {
  await using broker = await startPageBroker({ dataDir: `${directory.path}/data`, hasPage: true });
  const names = Array.from({ length: agents }, (_, index) => ({ agent: `w-${index + 1}`, role: 'worker' }));
  const [orchestratorToken, ...tokens] = await broker.tokens([
    { agent: 'orchestrator', role: 'orchestrator' },
    ...names,
  ]);
  await using fleet = await startFleet({
    url: broker.url,
    directory: directory.path,
    tokens,
    orchestratorToken: orchestratorToken!,
  });
  await fleet.makeDeadLetters(letters);
  await fleet.traffic(events);
  await pause(10_000);

  if (only.test('page')) {
    await fleet.traffic(0);
    const beginTraffic = () => fleet.traffic(events);
    print(`\nMemory of the page, used for ${minutes} minutes:`);
    head('minute', 'heap MB', 'nodes', 'listeners');
    const onSample = ({
      at,
      heap,
      nodes,
      listeners,
    }: Record<'at' | 'heap' | 'nodes' | 'listeners', number>) =>
      row(at, (heap / 1e6).toFixed(2), nodes, listeners);
    const report = await usePage(browser, broker, { minutes, beginTraffic, onSample });
    const { heap, nodes, listeners } = report.growth;
    print(
      `a minute: ${(heap / 1e3).toFixed(1)} kB, ${nodes.toFixed(2)} nodes, ${listeners.toFixed(2)} listeners\n`,
    );
    for (const figure of ['heap', 'nodes', 'listeners'] as const) {
      const share = report.growth[figure] / (report.memory.at(-1)?.[figure] ?? 1);
      const words = Number.isNaN(share)
        ? `${figure} of the page were measured too shortly to tell whether they grow: take --minutes 3 or more`
        : `${figure} of the page grows by ${(100 * share).toFixed(1)} % a minute`;
      check(share <= bounds.growthShare, words);
    }
    head(
      'milliseconds from input to paint',
      'times',
      'at rest: p50, most',
      'under load: p50, p99, most',
      'content p50, most',
    );
    for (const [name, answers] of report.underLoad) {
      const paints = answers.map(({ paintMs }) => paintMs);
      const rest = report.atRest.get(name)?.map(({ paintMs }) => paintMs) ?? [];
      const contents = answers.flatMap(({ contentMs }) => contentMs ?? []);
      const at = (of: number[], ...parts: number[]): string =>
        of.length === 0 ? '–' : parts.map((part) => quantile(of, part).toFixed(0)).join(', ');
      row(name, String(answers.length), at(rest, 0.5, 1), at(paints, 0.5, 0.99, 1), at(contents, 0.5, 1));
      const most = quantile(paints, 1);
      check(most < bounds.paintMs, `${name}: ${most.toFixed(0)} ms from an input to the next paint`);
    }
    print(`\nThe longest task of the page took ${report.longestTaskMs.toFixed(0)} ms.\n`);
    head('view', 'requests a second', 'most in one second');
    for (const [view, { perSecond, most }] of report.requests) {
      row(view, perSecond, most);
      check(perSecond <= bounds.requestsPerSecond, `${view}: ${perSecond} requests a second of an idle page`);
    }
    check(report.refusals.length === 0, `the page was refused: ${[...new Set(report.refusals)].join(', ')}`);
    check(report.problems.length === 0, `scripts failed: ${report.problems.join(' ')}`);
  }

  if (only.test('cost')) {
    await fleet.traffic(events);
    const costs = await costOfPages(browser, broker, { rounds: 5, ms: 8000 });
    print('\nProcessor time of the broker, medians:');
    head('open pages', 'ms a second', 'more than without', 'event loop held up, ms');
    const medianOf = (count: number, figure: 'cpuMs' | 'heldUpMs'): number =>
      quantile(costs.get(count)?.map((cost) => cost[figure]) ?? [], 0.5);
    for (const count of costs.keys())
      row(
        String(count),
        medianOf(count, 'cpuMs'),
        medianOf(count, 'cpuMs') - medianOf(0, 'cpuMs'),
        medianOf(count, 'heldUpMs'),
      );
  }

  if (only.test('fair')) {
    await fleet.traffic(events);
    print('\nAn honest pair beside pages that ask as fast as they may, ms:');
    head('greedy browsers', 'p50', 'p99', 'event loop held up', 'answers');
    for (const greedy of [1, 5]) {
      const { atRest, beside, answers } = await measureFairShare(broker, { rounds: 3, asks: 400, greedy });
      const times = ({ p50Ms, p99Ms, heldUpMs }: Waited): [number, number, number] => [
        p50Ms,
        p99Ms,
        heldUpMs,
      ];
      row('none', ...times(atRest), '–');
      row(
        String(greedy),
        ...times(beside),
        [...answers].map(([status, count]) => `${count} × ${status}`).join(', '),
      );
      const later = beside.p99Ms - atRest.p99Ms;
      check(
        later < bounds.laterMs,
        `agents wait ${later.toFixed(0)} ms longer (p99) beside ${greedy} greedy pages`,
      );
    }
  }
}

if (only.test('unwatched')) {
  const { same, neverOpened, closed, error, messageMicros } = await measureUnwatched(browser, {
    messages: 5000,
    rounds: 800,
  });
  print(
    `\nNobody looks: a message costs ${messageMicros.toFixed(1)} µs without the dashboard. Times that, medians, ± ${error.toFixed(3)}:`,
  );
  head('another broker without it', 'never opened', 'opened and closed');
  row(...[same, neverOpened, closed].map((ratio) => ratio.toFixed(3)));
  const bound = bounds.unwatched + error;
  check(
    error <= bounds.unwatchedError,
    'the machine is too busy to tell what the dashboard costs; repeat it',
  );
  check(
    neverOpened <= bound,
    `the dashboard costs ${neverOpened.toFixed(3)} times though it was never opened`,
  );
  check(closed <= bound, `the dashboard costs ${closed.toFixed(3)} times after it was closed`);
}

print();
for (const problem of problems) print(`FAILED: ${problem}`);
if (problems.length === 0) print('passed: all figures are within their bounds');
process.exitCode = problems.length > 0 ? 1 : 0;
