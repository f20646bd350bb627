import type { ServeAnswer } from '@signalbox/client';
import type { ExplainedStep } from '@signalbox/protocol';
import type { Call } from './call.ts';
import { permissionQuestion } from './permission-question.ts';
import {
  type Attempt,
  type CallDeps,
  type Ended,
  type ExplainDeps,
  type Explained,
  inOrder,
  type Pass,
  type Question,
  type Step,
} from './step.ts';
import { allowlist } from './steps/allowlist.ts';
import { approval } from './steps/approval.ts';
import { checkedArguments } from './steps/arguments.ts';
import { budget } from './steps/budget.ts';
import { hold } from './steps/hold.ts';
import { host } from './steps/host.ts';
import { journal } from './steps/journal.ts';
import { keptResult } from './steps/kept-result.ts';
import { lostCall } from './steps/lost-call.ts';
import { queue } from './steps/queue.ts';
import { recheck } from './steps/recheck.ts';
import { record } from './steps/record.ts';
import { repeatedReply } from './steps/repeated-reply.ts';

/** The steps that answer a call from what is known of it. */
const known: readonly Step<ServeAnswer>[] = [repeatedReply, keptResult, lostCall];
/** The steps of one attempt. After a hold they are passed again. */
const attempted: readonly Step<Attempt>[] = [
  allowlist,
  checkedArguments,
  approval,
  budget,
  queue,
  recheck,
  journal,
];

/** The steps of a tool call, in the order in which it passes them. */
const callSteps: readonly Explained[] = [...known, record, hold, ...attempted, host];

/** Says what each step would do with a call, up to the one that refuses it. */
export function explainSteps(question: Question, deps: ExplainDeps): ExplainedStep[] {
  const steps: ExplainedStep[] = [];
  for (const step of callSteps) {
    const saying = step.explain(question, deps);
    steps.push({ step: step.name, ...saying });
    if (saying.verdict === 'refused') break;
  }
  return steps;
}

/** Serves calls of each sort. A handler rejects only if the journal can't be read, because then it is unknown whether a call has run. */
export interface CallHandlers {
  /** Serves a call of a tool of a hosted server. */
  toolCall: Pass<ServeAnswer>;
  /** Serves a question of an agent's CLI whether it may use a tool of its own. */
  question: Pass<ServeAnswer>;
  /** Serves a round of a task that still lacks answers. */
  keptAnswers: Pass<ServeAnswer>;
}

/** Puts the steps of each sort of call together. */
export function createCallHandlers(deps: CallDeps): CallHandlers {
  // Nothing runs in a question or a round without all answers, so that none is lost: it is answered again.
  const repeatable = known.filter((step) => step !== lostCall);
  const answering = (first: typeof known, run: Pass<Ended>) => inOrder(first, record.before(run, deps), deps);
  const unlessHeld = (attempt: Pass<Attempt>) => hold.before(attempt, deps);
  return {
    toolCall: answering(known, unlessHeld(inOrder(attempted, host.make(deps), deps))),
    question: answering(repeatable, unlessHeld(permissionQuestion(deps))),
    keptAnswers: answering(repeatable, keepAnswers),
  };
}

/** Ends a round of a task like the one before it, without calling anything. The answers that have come are kept with its reply. */
async function keepAnswers({ taskRound }: Call): Promise<Ended> {
  return { result: taskRound?.waiting?.input_required ?? {} };
}
