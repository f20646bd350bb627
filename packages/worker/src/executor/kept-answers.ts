import type { CancelSignal } from '@signalbox/client';
import {
  type KeptAnswer,
  type McpContentRequest,
  messageOf,
  readKeptAnswer,
  toolCallError,
} from '@signalbox/protocol';
import type { CallResult } from './call-result.ts';
import { unreadableAnswer } from './orchestrator-question.ts';

type Answer = Record<string, unknown>;
type Ask = (body: McpContentRequest, options: { signal?: CancelSignal }) => Promise<CallResult<Answer>>;

/** The longest answer that is read, in bytes of JSON. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Reads answers that are longer than a message, part by part. An agent has one of them at a time in memory: the next one is read when the
 * one before it is complete.
 */
export class KeptAnswers {
  readonly #ask: Ask;
  #before: Promise<unknown> = Promise.resolve();

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Reads an answer as its server gave it. Every failure is a return value. */
  read(kept: KeptAnswer, options: { signal?: CancelSignal }): Promise<CallResult<Answer>> {
    const read = this.#before.then(() => this.#read(kept, options));
    this.#before = read;
    return read;
  }

  async #read(kept: KeptAnswer, options: { signal?: CancelSignal }): Promise<CallResult<Answer>> {
    if (kept.bytes > maxBytes) {
      const message = `the resource has ${kept.bytes} bytes; a worker reads at most ${maxBytes}`;
      return { error: toolCallError('result_too_large', message, { mayHaveRun: false }) };
    }
    let failed: CallResult<Answer> | undefined;
    const ask = async (uri: string): Promise<Answer> => {
      const answer = await this.#ask({ op: 'request', method: 'resources/read', params: { uri } }, options);
      if (answer.result) return answer.result;
      failed = answer;
      throw new Error(answer.error.message);
    };
    try {
      return { result: await readKeptAnswer(ask, kept) };
    } catch (thrown) {
      return failed ?? { error: unreadableAnswer(`not the resource that it kept: ${messageOf(thrown)}`) };
    }
  }
}
