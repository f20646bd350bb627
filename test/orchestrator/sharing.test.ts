import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { isRunning } from '../support/processes.ts';

test('thirty workers on three servers keep exactly three processes, while a server of its own per worker has one each', async () => {
  await using directory = await tempDir();
  const file = (server: string) => `${directory.path}/${server}.jsonl`;
  await using stack = await startToolStack({
    servers: {
      second: counterServer(file('second')),
      third: counterServer(file('third')),
      own: { ...counterServer(file('own')), share: 'worker', lazy: true },
    },
  });
  const workers = await Promise.all(Array.from({ length: 30 }, (_, n) => stack.client(`w${n}`)));
  const echoes = ['counter', 'second', 'third'].map((server) => `mcp_${server}__echo`);
  const failures = await Promise.all(
    workers.flatMap((worker, n) => echoes.map((tool) => callError(worker, tool, { n }))),
  );
  expect(failures).toEqual(Array(90).fill(undefined));
  const pidsOf = (lines: { pid: number }[]) => new Set(lines.map(({ pid }) => pid));
  const shared = [
    pidsOf(stack.ran('echo')),
    pidsOf(readCounter(file('second'))),
    pidsOf(readCounter(file('third'))),
  ];
  expect(shared.map((pids) => pids.size)).toEqual([1, 1, 1]);
  const running = stack.host.servers().flatMap(({ pids }) => pids);
  expect(new Set(running)).toEqual(new Set(shared.flatMap((pids) => [...pids])));
  expect(running.every(isRunning)).toBe(true);

  for (const [n, worker] of [...workers.slice(0, 2), ...workers.slice(0, 2)].entries()) {
    expect(await callError(worker, 'mcp_own__gate', { calls: 1, who: n % 2 })).toBeUndefined();
  }
  const lines = readCounter(file('own'));
  const byWorker = [0, 1].map((who) => pidsOf(lines.filter(({ args }) => args.who === who)));
  expect(byWorker.map((pids) => pids.size)).toEqual([1, 1]);
  expect(pidsOf(lines).size).toBe(2);
});
