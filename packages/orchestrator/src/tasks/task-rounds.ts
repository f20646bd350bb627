import { type CallRecordOutcome, maxTaskRounds, type ToolCallError, taskRoundId } from '@signalbox/protocol';
import type { CallKey, Journal, JournalEntry } from '@signalbox/store/journal';
import { endedUnanswered, outcomeUnknown } from '../calls/call-outcome.ts';
import type { CallRegistry } from '../calls/call-registry.ts';
import type { TrackedCall } from '../calls/tracked-call.ts';

/** The dependencies of {@link TaskRounds}: the calls that this process has seen, and the calls in the journal. */
export interface TaskRoundsDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
}

/** One round of a task. Times are epoch milliseconds. */
export interface RoundState {
  key: CallKey;
  role: string;
  tool: string;
  receivedAt: number;
  updatedAt: number;
  /** The call, if this process has it and it has not ended. */
  running?: TrackedCall;
  /** Set if the round has ended. `reply` is the JSON text of its reply in its kept form. */
  end?: { outcome: CallRecordOutcome; reply: string };
}

/** A task: its first and its newest round, with the number of the newest. */
export interface FoundTask {
  first: RoundState;
  newest: RoundState;
  number: number;
}

/** The most tasks whose newest round's number is remembered. */
const maxNumbers = 1_000;

/** Finds the rounds of tasks. */
export class TaskRounds {
  readonly #deps: TaskRoundsDeps;
  /** The newest round of each task that has more than one, so that a client that asks often does not make all of them be read each time. */
  readonly #numbers = new Map<string, number>();

  constructor(deps: TaskRoundsDeps) {
    this.#deps = deps;
  }

  /** Reads one round; `undefined` if there is none, or its reply is no longer kept. */
  async find(key: CallKey): Promise<RoundState | undefined> {
    const { registry, journal } = this.#deps;
    const known = registry.any(key);
    if (known?.isTask && (known.outcome === undefined || known.replyText !== undefined))
      return ofTracked(known);
    const entry = await journal?.find(key);
    return entry && ofEntry(entry);
  }

  /** Tells whether this is a round of another task. Its questions may be answered only there: otherwise its tool could continue twice. */
  async isLaterRound({ key: { agent, requestId }, tool }: RoundState): Promise<boolean> {
    const [, taskId] = /^(.+)\.\d+$/.exec(requestId) ?? [];
    const first = taskId === undefined ? undefined : await this.find({ agent, requestId: taskId });
    return first?.end?.outcome === 'input_required' && first.tool === tool;
  }

  /** Reads a task of an agent; `undefined` if there is none. */
  async task({ agent, requestId: taskId }: CallKey): Promise<FoundTask | undefined> {
    const first = await this.find({ agent, requestId: taskId });
    if (!first || (await this.isLaterRound(first))) return undefined;
    const round = async (number: number) => {
      const found = await this.find({ agent, requestId: taskRoundId(taskId, number) });
      // A call that only happens to have this id is no round.
      return found?.tool === first.tool ? found : undefined;
    };
    const name = `${agent} ${taskId}`;
    const known = this.#numbers.get(name) ?? 0;
    const from = known > 0 ? await round(known) : undefined;
    let [newest, number] = from ? [from, known] : [first, 0];
    while (newest.end?.outcome === 'input_required' && number < maxTaskRounds) {
      const next = await round(number + 1);
      if (!next) break;
      newest = next;
      number++;
    }
    if (number > known) this.#remember(name, number);
    return { first, newest, number };
  }

  #remember(name: string, number: number): void {
    this.#numbers.delete(name);
    this.#numbers.set(name, number);
    if (this.#numbers.size > maxNumbers) this.#numbers.delete(this.#numbers.keys().next().value!);
  }
}

function ofTracked(call: TrackedCall): RoundState {
  const { agent, requestId, role, tool } = call.name;
  const { received_at: receivedAt, started_at, finished_at } = call.toRecord();
  const { outcome, replyText } = call;
  const updatedAt = finished_at ?? started_at ?? receivedAt;
  return {
    ...{ key: { agent, requestId }, role, tool, receivedAt, updatedAt },
    ...(outcome === undefined || replyText === undefined
      ? { running: call }
      : { end: { outcome, reply: replyText } }),
  };
}

/** Returns the state of a round that this process has not seen. Without an end, the round waits until this process accepts it. */
function ofEntry(entry: JournalEntry): RoundState | undefined {
  const { agent, requestId, role, tool, receivedAt, startedAt, wasStarted, isKept, isSettled, end } = entry;
  const updatedAt = end?.finishedAt ?? startedAt ?? receivedAt;
  const round = { key: { agent, requestId }, role, tool, receivedAt, updatedAt };
  if (end) {
    const { outcome, reply } = end;
    return isKept && reply !== undefined ? { ...round, end: { outcome, reply } } : undefined;
  }
  if (wasStarted) return { ...round, end: failed(outcomeUnknown(requestId)) };
  if (!isSettled) return round;
  return { ...round, end: failed(endedUnanswered()) };
}

function failed(error: ToolCallError): NonNullable<RoundState['end']> {
  return { outcome: error.code, reply: JSON.stringify({ error }) };
}
