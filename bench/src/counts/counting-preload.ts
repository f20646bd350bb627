import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { countEffects } from './count-effects.ts';
import { countEntries } from './count-entries.ts';
import type { CountAnswer, CountQuestion } from './counts.ts';
import { replaceClock } from './stopped-clock.ts';

// Processes preload this file. Those that take part in an operation count what they do for it, and report that at the Unix
// socket that our URL names.

/** The commands whose processes take part. Their supervisor and its helpers do not. */
const parts = ['broker', 'orchestrator', 'worker'];
const { searchParams } = new URL(import.meta.url);
const part = searchParams.get('part') ?? process.argv[2] ?? '';

const entries = countEntries();
if (isMainThread && (searchParams.has('part') || parts.includes(part))) {
  const channel = connect(searchParams.get('socket')!);
  channel.unref();
  answerAt(channel);
  channel.write(`${JSON.stringify(part)}\n`);
}

function answerAt(channel: Socket): void {
  const effects = countEffects(channel);
  const clock = replaceClock();
  const answerTo = async (question: CountQuestion): Promise<CountAnswer> => {
    if (question === 'begin') {
      entries.reset();
      effects.reset();
      clock.stop();
    } else if (question === 'release') {
      clock.release();
    } else if (typeof question === 'object') {
      clock.advance(question.advanceMs);
    }
    // The process reads its messages in this turn, and handles them in the next ones.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    const { timerInMs } = clock;
    const counts = { ...entries.counts(), ...effects.counts() };
    return { counts, ...(timerInMs !== undefined && { timerInMs }) };
  };
  createInterface(channel)
    .on('line', (line) => {
      void answerTo(JSON.parse(line)).then((answer) => channel.write(`${JSON.stringify(answer)}\n`));
    })
    .on('error', () => {
      // The harness has ended.
    });
}
