import { TurnStream, textWithCut } from '../turn-output.ts';
import type { AcpAgent } from './acp-agents.ts';

/** The text with which an agent ended a turn. */
export interface LastText {
  /** The last message, or the text after the last tool call of an agent that gives messages no ids. */
  text: string;
  /** The text that belongs to no message, of an agent that gives messages ids: words of the agent itself, not of its model. */
  notice: string;
}

/** Keeps the last message of a turn. Earlier messages stand before calls of tools, and are no answer. */
export class SpokenText {
  readonly #sendsIds: boolean;
  readonly #notices: RegExp | undefined;
  #id: string | undefined;
  #message = new TurnStream();
  #loose = new TurnStream();

  constructor({ sendsIds, notices }: Pick<AcpAgent, 'sendsIds' | 'notices'>) {
    this.#sendsIds = sendsIds === true;
    this.#notices = notices;
  }

  /** Adds a part of a message. */
  add(text: string, messageId: string | undefined): void {
    if (text === '' || this.#notices?.test(text)) return;
    if (messageId !== undefined && messageId !== this.#id) {
      this.#id = messageId;
      this.#message = new TurnStream();
    }
    const stream = messageId === undefined ? this.#loose : this.#message;
    void stream.write(Buffer.from(text));
  }

  /** Notes that a tool was called: the text before it is no answer, unless ids say what belongs together. */
  toolCalled(): void {
    if (this.#id === undefined && !this.#sendsIds) this.#loose = new TurnStream();
  }

  last(): LastText {
    const [message, loose] = [this.#message, this.#loose].map((stream) => textWithCut(stream.text()).trim());
    const hasIds = this.#sendsIds || this.#id !== undefined;
    return hasIds ? { text: message!, notice: loose! } : { text: loose!, notice: '' };
  }
}
