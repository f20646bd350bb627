import { parseArgs } from 'node:util';
import { type Flood, floods } from '../support/neighbours/floods.ts';
import { type HonestReport, startNeighbours } from '../support/neighbours/neighbours.ts';

/**
 * Prints how long an honest pair waits for a reply, at rest and beside each flood of a greedy process. Each figure is the median of some
 * rounds, and each round has a greedy agent that has used nothing yet.
 */
const { values } = parseArgs({
  options: { asks: { type: 'string' }, rounds: { type: 'string' }, only: { type: 'string' } },
});
const asks = Number(values.asks ?? 300);
const rounds = Number(values.rounds ?? 3);
const only = new RegExp(values.only ?? '');
const mostMs = 8000;

const row = (...cells: string[]): void => {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
};
const median = (figures: number[]): string =>
  (figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN).toFixed(1);
const times = (reports: HonestReport[]): string =>
  `${median(reports.map(({ p50Ms }) => p50Ms))}, ${median(reports.map(({ p99Ms }) => p99Ms))}`;
const sum = (counts: number[]): number => counts.reduce((a, b) => a + b, 0);

row(
  'flood',
  'served',
  'refused',
  'at rest: p50, p99',
  'flooded: p50, p99',
  'held up',
  'the flood was answered',
);
row(...Array(7).fill('---'));
for (const flood of Object.keys(floods) as Flood[]) {
  if (!only.test(flood)) continue;
  await using neighbours = await startNeighbours();
  await neighbours.ask(50);
  const atRest: HonestReport[] = [];
  const flooded: HonestReport[] = [];
  const heldUp: number[] = [];
  const answers: Record<string, number> = {};
  for (let round = 0; round < rounds; round++) {
    atRest.push(await neighbours.ask(asks));
    await neighbours.heldUpMs();
    const { honest, greedy } = await neighbours.askDuring(flood, asks, { mostMs });
    flooded.push(honest);
    heldUp.push(await neighbours.heldUpMs());
    for (const [name, count] of Object.entries({ ...greedy.answers, ...greedy.closes })) {
      answers[name] = (answers[name] ?? 0) + count;
    }
  }
  row(
    flood,
    `${sum(flooded.map(({ served }) => served))}`,
    `${sum(flooded.map(({ refused }) => refused))}`,
    times(atRest),
    times(flooded),
    median(heldUp),
    Object.entries(answers)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'nothing',
  );
}
