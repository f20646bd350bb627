import type { Inbox } from './inbox.ts';
import { jsonNumber, jsonText, jsonTextOrNull } from './json-text.ts';
import type { Origin, RecentMessage } from './recent-message.ts';
import type { RecordText } from './record-entry.ts';
import type { Ending } from './settled-message.ts';

/**
 * What one commit did to recent messages, in order, as the text of its record (see `record-entry.ts`). By hand, as it
 * happens: objects for `JSON.stringify` took as long as all of the rest.
 */
export class CommitRecord {
  /** Each entry with a comma before it. */
  #entries = '';
  #bodies = '';
  #origin: Origin | undefined;
  #ending: Ending | undefined;
  #endedIn: Inbox | undefined;

  get isEmpty(): boolean {
    return this.#entries === '';
  }

  added(recent: RecentMessage): void {
    if (recent.origin !== this.#origin) this.#like(recent.origin);
    const { seq, size, id, body, correlationId, traceparent } = recent;
    let text = `,[${seq},${size},${body === undefined ? 'null' : body.length},${jsonText(id)}`;
    if (correlationId !== undefined || traceparent !== undefined) text += `,${jsonTextOrNull(correlationId)}`;
    if (traceparent !== undefined) text += `,${jsonText(traceparent)}`;
    this.#entries += `${text}]`;
    if (body !== undefined) this.#bodies += body;
  }

  ended({ seq, home }: RecentMessage, ending: Ending): void {
    if (ending !== this.#ending || home !== this.#endedIn) {
      const { at, outcome, reason } = ending;
      this.#entries += `,["end",${home.json},${at},"${outcome}",${jsonTextOrNull(reason)}]`;
      this.#ending = ending;
      this.#endedIn = home;
    }
    this.#entries += `,${seq}`;
  }

  tried({ seq, home, attempts }: RecentMessage): void {
    this.#entries += `,["tried",${home.json},${seq},${jsonNumber(attempts)}]`;
  }

  /** Empties it. */
  take(): RecordText {
    const text = { entries: `[${this.#entries.slice(1)}]`, bodies: this.#bodies };
    this.clear();
    return text;
  }

  clear(): void {
    this.#entries = '';
    this.#bodies = '';
    this.#origin = undefined;
    this.#ending = undefined;
    this.#endedIn = undefined;
  }

  #like(origin: Origin): void {
    const { home, sender, senderAddress, senderRole, tokenId, kind, createdAt, expiresAt } = origin;
    const from = `${jsonText(sender)},${jsonText(senderAddress)},${jsonText(senderRole)},${jsonTextOrNull(tokenId)}`;
    const times = `${jsonNumber(createdAt)},${jsonNumber(expiresAt)}`;
    this.#entries += `,["like",${home.json},${from},${jsonText(kind)},${times}]`;
    this.#origin = origin;
  }
}
