import { startProcess } from '../processes.ts';
import { type Condition, type FairnessOptions, fairnessRounds } from './fairness-rounds.ts';
import { asWorkers, startFleetBroker } from './fleet-broker.ts';
import type { FairnessRow } from './fleet-report.ts';
import type { FloodSetup } from './flood-process.ts';
import type { PairsSetup } from './pairs-process.ts';
import { doneAlone, fairnessRows } from './shares.ts';

const floodLanes = 900;
const conditions: Condition[] = [
  { condition: 'no greedy sender', greedy: 'absent' },
  { condition: 'greedy, waits as told', greedy: 'heeds' },
  { condition: 'greedy, insists', greedy: 'insists' },
];

/** `modest` pairs that ask and answer, one request at a time each, and one agent that floods another. */
export async function fairMessages(modest: number, options: FairnessOptions): Promise<FairnessRow[]> {
  const pairs = Array.from({ length: modest }, (_, n) => ({
    asker: `asker-${n + 1}`,
    answerer: `answerer-${n + 1}`,
  }));
  await using broker = await startFleetBroker(
    asWorkers([...pairs.flatMap(({ asker, answerer }) => [asker, answerer]), 'greedy', 'taker']),
  );
  const { url, tokens } = broker;
  const pairsSetup: PairsSetup = {
    url,
    pairs: pairs.map(({ asker, answerer }) => ({
      asker,
      askerToken: tokens[asker]!,
      answerer,
      answererToken: tokens[answerer]!,
      lanes: 1,
    })),
  };
  const floodSetup: FloodSetup = {
    url,
    sender: 'greedy',
    senderToken: tokens.greedy!,
    taker: 'taker',
    takerToken: tokens.taker!,
    lanes: floodLanes,
  };
  await using modestOnes = await startProcess(new URL('./pairs-process.ts', import.meta.url), pairsSetup);
  await using greedyOne = await startProcess(new URL('./flood-process.ts', import.meta.url), floodSetup);
  const processes = { modest: modestOnes, greedy: greedyOne };
  return fairnessRows(await fairnessRounds('messages', conditions, processes, options), doneAlone);
}
