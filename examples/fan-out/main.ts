import { isDeepStrictEqual } from 'node:util';
import { connectBroker, type RequestOutcome, requestAddress } from '@signalbox/client';
import { identityFrom } from '../identity.ts';
import { startWorker } from './fleet.ts';
import type { Behaviour } from './worker.ts';

const isBroken = process.argv.includes('--break');
// With --break nothing happens that is worth waiting for.
const deadlineMs = isBroken ? 1_000 : 3_000;
const task = { text: 'how many words does this little sentence have here' };

const behaviours: Record<string, Behaviour> = {
  'fan-1': 'answers',
  'fan-2': 'answers',
  'fan-3': 'answers',
  'fan-4': 'answers',
  'fan-5': 'fails',
  'fan-6': 'stalls', // and is killed while it works
  'fan-7': 'stalls',
  'fan-8': 'is late',
};
const expected = {
  'fan-1': 'answered: 9 words',
  'fan-2': 'answered: 9 words',
  'fan-3': 'answered: 9 words',
  'fan-4': 'answered: 9 words',
  'fan-5': 'answered: error no_dictionary',
  'fan-6': 'undeliverable: dead, may have run',
  'fan-7': 'timed_out: may have run',
  'fan-8': 'timed_out: may have run',
};

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const me = identityFrom();
await using boss = await connectBroker({ ...me, agent: requestAddress(me.agent) });
// A minting token connects under any name of its pattern, and can do nothing but issue and revoke tokens.
const minting = identityFrom('MINTING_TOKEN_FILE', { agent: 'fan-minting' });
await using minter = await connectBroker(minting);

await using started = new AsyncDisposableStack();
const workers = await Promise.all(
  Object.entries(behaviours).map(async ([agent, behaviour]) =>
    started.use(await startWorker(minter, { url: me.url, agent, behaviour })),
  ),
);
say(`${workers.length} workers wait for tasks; the deadline is ${deadlineMs / 1000} s from now`);

const victim = isBroken ? undefined : 'fan-6';
const deadline = performance.now() + deadlineMs;
const ends = await Promise.all(
  workers.map(async (worker) => {
    const outcome = await boss.request(worker.agent, 'task', task, {
      timeoutMs: deadline - performance.now(),
      // Its first progress shows that it works: then it is killed.
      onProgress: () => worker.agent === victim && worker.kill(),
    });
    return [worker.agent, inWords(outcome)] as const;
  }),
);

// An answer after the deadline is taken and dropped by the client: it can't be mistaken for that of a later task.
const late = workers.find(({ agent }) => behaviours[agent] === 'is late')!;
await late.answerLate(10_000);

const report = Object.fromEntries(ends);
for (const [agent, end] of ends) say(`  ${agent}  ${end}`);
say(`  (${late.agent} answered after all, too late: dropped)`);
const totals = Object.entries(Object.groupBy(ends, ([, end]) => end.split(':')[0]!));
say(`${ends.length} tasks: ${totals.map(([status, all]) => `${all!.length} ${status}`).join(', ')}`);
if (!isDeepStrictEqual(report, expected)) {
  for (const [agent, end] of Object.entries(expected)) {
    if (report[agent] !== end) say(`WRONG: ${agent} should be ${end}`);
  }
  process.exitCode = 1;
}

/** Every end of a request is a value, a failure too. `mayHaveRun` says if it is safe to give the task to another. */
function inWords(outcome: RequestOutcome): string {
  const ran = outcome.mayHaveRun ? 'may have run' : 'has not run';
  switch (outcome.status) {
    case 'completed': {
      const { words, error } = outcome.reply.json as { words?: number; error?: { code: string } };
      return `answered: ${error ? `error ${error.code}` : `${words} words`}`;
    }
    case 'undeliverable':
      // The broker keeps the deadline too, and may be the first to say that it has passed.
      return outcome.reason === 'expired' ? `timed_out: ${ran}` : `undeliverable: ${outcome.reason}, ${ran}`;
    case 'rejected':
    case 'not_sent':
      return `${outcome.status}: ${outcome.error.code}`;
    default:
      return `${outcome.status}: ${ran}`;
  }
}
