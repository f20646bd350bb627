import type { CancelSignal } from '@signalbox/client';
import { agentOf, SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import type { FaceCall } from '../../tools/face-tools.ts';
import type { ToolResult } from '../../tools/tool-result.ts';
import { additive, type MailboxTool, mailboxTool, readOnly } from '../mailbox-tool.ts';
import { bodyFields, bodyOf, threadField, toField } from '../message-arguments.ts';
import { askSchema, endedResult, interruptedResult, pendingResult, whyNoAnswer } from './ask-outcome.ts';
import type { Ask, AskTable } from './ask-table.ts';
import type { WaitingQuestions } from './waiting-questions.ts';

const defaultSeconds = 600;
const maxSeconds = 24 * 60 * 60;
/** The most pending questions that an error names. */
const maxNamed = 20;

export interface AskToolsDeps {
  asks: AskTable;
  questions: WaitingQuestions;
  /** The longest wait of one call, in milliseconds. */
  maxWaitMs: number;
}

/** Makes the tools that ask other agents and get answers that took longer than one call may. */
export function askTools(deps: AskToolsDeps): MailboxTool[] {
  const { asks, maxWaitMs } = deps;
  const waitSeconds = Math.max(1, Math.floor(maxWaitMs / 1000));
  return [
    mailboxTool({
      name: 'signalbox_ask_agent',
      title: 'Ask an agent',
      description: `Asks another agent and waits for its answer, at most ${waitSeconds} s. If none came by then, it returns status pending with an ask_id: the question goes on in the background until timeout_s is over, and signalbox_ask_result gets the answer. If an agent asks you something meanwhile, the wait may end early with status pending and waiting_questions: answer those first. An agent that is not connected finds the question when it comes. Cancelling this call withdraws the question.`,
      fields: {
        to: toField,
        ...bodyFields,
        thread: threadField,
        timeout_s: {
          type: 'integer',
          description: 'After this many seconds without an answer the question is withdrawn.',
          minimum: 1,
          maximum: maxSeconds,
          default: defaultSeconds,
        },
      },
      required: ['to'],
      outputSchema: askSchema,
      annotations: additive,
      async run({ to, thread, timeout_s: seconds = defaultSeconds, ...given }, call) {
        const ask = asks.start(to, bodyOf(given), {
          timeoutMs: seconds * 1000,
          key: call.key,
          thread,
          traceparent: call.traceparent,
        });
        if (call.key?.isAnswered) {
          ask.outlivesCall();
          return pendingResult(ask);
        }
        const { signal } = call;
        signal.addEventListener('abort', ask.withdraw, { once: true });
        try {
          if (signal.aborted) ask.withdraw();
          // A cancelled call waits for the end of its question, which comes at once.
          return await resultOf(deps, ask, maxWaitMs, { onProgress: call.onProgress, key: call.key });
        } finally {
          signal.removeEventListener('abort', ask.withdraw);
        }
      },
    }),
    mailboxTool({
      name: 'signalbox_ask_result',
      title: 'Get an answer',
      description: `Waits for the answer to a question that signalbox_ask_agent left pending, at most ${waitSeconds} s, and returns the answer or status pending again. Answers are kept for 10 minutes. Cancelling this call leaves the question as it is.`,
      fields: {
        ask_id: {
          type: 'string',
          description: 'As signalbox_ask_agent gave it.',
          minLength: 1,
          maxLength: 64,
        },
        timeout_s: {
          type: 'integer',
          description: 'How long to wait, in seconds; 0 just looks.',
          minimum: 0,
          maximum: waitSeconds,
          default: waitSeconds,
        },
      },
      required: ['ask_id'],
      outputSchema: askSchema,
      annotations: readOnly,
      async run({ ask_id: id, timeout_s: seconds }, { signal, onProgress, key }) {
        const ask = asks.find(id);
        if (!ask) throw unknownAsk(id, asks.pending());
        const waitMs = seconds === undefined ? maxWaitMs : Math.min(maxWaitMs, seconds * 1000);
        return await resultOf(deps, ask, waitMs, { signal, onProgress, key });
      },
    }),
  ];
}

async function whyOf(asks: AskTable, ask: Ask): Promise<string | undefined> {
  const recipient = await asks.recipientOf(ask);
  return recipient && whyNoAnswer(agentOf(ask.to), recipient);
}

async function resultOf(
  { asks, questions }: AskToolsDeps,
  ask: Ask,
  waitMs: number,
  { signal, onProgress, key }: { signal?: CancelSignal } & Pick<FaceCall, 'onProgress' | 'key'>,
): Promise<ToolResult> {
  ask.onProgress = onProgress;
  using watch = questions.watch(ask);
  const interrupted = watch.found.then((found) => ({ found }));
  const ended = await within(Promise.race([ask.outcome, interrupted]), waitMs, signal);
  if (ended !== late && !('found' in ended)) {
    ask.endedBy(key);
    return endedResult(ask, ended, ended.status === 'timed_out' ? await whyOf(asks, ask) : undefined);
  }
  ask.outlivesCall();
  return ended === late ? pendingResult(ask, await whyOf(asks, ask)) : interruptedResult(ask, ended.found);
}

function unknownAsk(id: string, pending: readonly Ask[]): SignalboxError {
  const named = pending.slice(0, maxNamed).map((ask) => `${ask.id} (to ${ask.to})`);
  const known = named.length > 0 ? `pending are: ${named.join(', ')}` : 'none is pending';
  const message = `there is no question with the id '${id}', or its answer is forgotten by now; ${known}`;
  return new SignalboxError('unknown_ask', message);
}
