import { isDeepStrictEqual } from 'node:util';
import { type BrokerClient, connectBroker, type RequestOutcome, requestAddress } from '@signalbox/client';
import { identityFrom } from '../identity.ts';
import { serveAsks } from './answerer.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const withdrawn = Promise.withResolvers<'withdrawn'>();
const limit = process.argv.includes('--break') ? 2 : 3;

// Two agents in one process, to be read in one place; in earnest each has its own, and they need not run at the same time.
await using answerer = await connectBroker(identityFrom('ANSWERER_TOKEN_FILE'));
await using _serving = await serveAsks(answerer, {
  limit,
  onWithdrawn: () => withdrawn.resolve('withdrawn'),
});

const me = identityFrom();
// A client that only asks takes an address of its own, so that two of the same agent never take each other's replies.
await using asker = await connectBroker({ ...me, agent: requestAddress(me.agent) });

const cases: Record<string, { expected: unknown; run: (asker: BrokerClient) => Promise<unknown> }> = {
  'an ask with progress': {
    expected: ['1', '2', '3', 'answered: counted to 3'],
    run: async (asker) => {
      const seen: string[] = [];
      const outcome = await asker.request(
        'answerer',
        'ask',
        { count_to: 3 },
        {
          // The one deadline for everything: finding the answerer, the answer, and its way back.
          timeoutMs: 30_000,
          onProgress: (body) => seen.push(String((body as { number?: unknown }).number)),
        },
      );
      return [...seen, inWords(outcome)];
    },
  },
  'an ask that is refused': {
    expected: 'refused: I can count to 3 at most',
    run: async (asker) =>
      inWords(await asker.request('answerer', 'ask', { count_to: 1e9 }, { timeoutMs: 30_000 })),
  },
  'an ask that is cancelled': {
    expected: ['cancelled, may have run', 'withdrawn'],
    run: async (asker) => {
      const second = new AbortController();
      const options = { timeoutMs: 30_000, signal: second.signal, onProgress: () => second.abort() };
      const outcome = await asker.request('answerer', 'ask', { ponder: true }, options);
      return [inWords(outcome), outcome.status === 'cancelled' && (await withdrawn.promise)];
    },
  },
  'an ask whose deadline passes': {
    expected: 'timed_out, may have run',
    run: async (asker) =>
      inWords(await asker.request('answerer', 'ask', { ponder: true }, { timeoutMs: 500 })),
  },
  'an ask to a name that nobody has': {
    expected: 'rejected with unknown_recipient, has not run',
    run: async (asker) =>
      inWords(await asker.request('anwserer', 'ask', { count_to: 3 }, { timeoutMs: 30_000 })),
  },
};

let wrong = 0;
for (const [title, { expected, run }] of Object.entries(cases)) {
  const seen = await run(asker);
  const isRight = isDeepStrictEqual(seen, expected);
  if (!isRight) wrong++;
  say(
    `${title}: ${[seen].flat().join(', ')}${isRight ? '' : `   WRONG: expected ${[expected].flat().join(', ')}`}`,
  );
}
say(wrong === 0 ? 'All ended as they should.' : `${wrong} of ${Object.keys(cases).length} ended otherwise.`);
if (wrong > 0) process.exitCode = 1;

/** Every end of a request is a value. `mayHaveRun` says whether it is safe to ask again. */
function inWords(outcome: RequestOutcome): string {
  const ran = outcome.mayHaveRun ? 'may have run' : 'has not run';
  switch (outcome.status) {
    case 'completed': {
      const body = outcome.reply.json as { text?: string; error?: { message: string } };
      return body.error ? `refused: ${body.error.message}` : `answered: ${body.text}`;
    }
    case 'rejected':
    case 'not_sent':
      return `${outcome.status} with ${outcome.error.code}, ${ran}`;
    case 'undeliverable':
      // The broker keeps the deadline too, and may be the first to say that it has passed.
      return outcome.reason === 'expired' ? `timed_out, ${ran}` : `undeliverable (${outcome.reason}), ${ran}`;
    default:
      return `${outcome.status}, ${ran}`;
  }
}
