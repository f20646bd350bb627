import { parseArgs } from 'node:util';
import { type Flood, floods } from '../support/neighbours/floods.ts';
import { type HonestReport, startNeighbours } from '../support/neighbours/neighbours.ts';

/** Prints how long an honest pair waits for a reply, quiet and beside each flood of a greedy client with eight connections. */
const { values } = parseArgs({ options: { asks: { type: 'string' }, only: { type: 'string' } } });
const asks = Number(values.asks ?? 200);
const mostMs = 8000;

const row = (...cells: string[]): void => {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
};
const times = ({ p50Ms, p99Ms }: HonestReport): string[] => [p50Ms.toFixed(1), p99Ms.toFixed(1)];
const counted = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ') || 'nothing';

row('flood', 'served', 'refused', 'p50 ms quiet', 'p50 ms', 'p99 ms quiet', 'p99 ms', 'answers to the flood');
row(...Array(8).fill('---'));
for (const flood of Object.keys(floods) as Flood[]) {
  if (values.only !== undefined && !flood.includes(values.only)) continue;
  await using neighbours = await startNeighbours();
  await neighbours.ask(50);
  const quiet = await neighbours.ask(asks);
  const { honest, greedy } = await neighbours.askDuring(flood, asks, { mostMs });
  const [quietP50, quietP99] = times(quiet);
  const [p50, p99] = times(honest);
  const answers = counted({ ...greedy.answers, ...greedy.closes });
  row(flood, `${honest.served}`, `${honest.refused}`, quietP50!, p50!, quietP99!, p99!, answers);
}
