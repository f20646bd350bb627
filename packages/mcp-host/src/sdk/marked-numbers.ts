import { randomUUID } from 'node:crypto';
import { exactNumber, longNumber, stringEnd } from '@signalbox/protocol';
import { mendedText } from '../mended-message.ts';

/**
 * Carries exact numbers through the SDK's HTTP transport. Workaround for the SDK 2.4.0: it parses JSON itself, and so rounds them. In the
 * text of a body each of them is replaced by a string with a mark that no server can guess; in the parsed message the number takes its
 * place again. Messages that the SDK would refuse are mended before.
 */
export class MarkedNumbers {
  readonly #mark = `number ${randomUUID()} `;
  /** The marks in texts whose messages have not come yet. */
  #open = 0;

  /** Returns a function that takes the pieces of one body, and at last `undefined`, and returns what can be handed on. */
  marker(isEventStream: boolean): (piece: Uint8Array | undefined) => Uint8Array {
    let rest = '';
    return (piece) => {
      // One character for each byte: the parts of other characters stay what they are.
      const bytes = piece && Buffer.from(piece.buffer, piece.byteOffset, piece.length);
      const text = bytes?.toString('latin1') ?? '';
      // The other bodies are one message, which is read when it is whole.
      const lineEnd = isEventStream ? Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) : -1;
      const end = piece ? lineEnd + 1 : 0;
      if (piece && end === 0) {
        rest += text;
        return new Uint8Array();
      }
      const whole = rest + text.slice(0, end);
      rest = text.slice(end);
      return Buffer.from(this.#marked(whole, isEventStream), 'latin1');
    };
  }

  /** Puts the numbers back into a message. */
  restore(message: object): void {
    if (this.#open === 0) return;
    const open: object[] = [message];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      for (const [name, value] of Object.entries(one)) {
        if (typeof value === 'object' && value !== null) open.push(value);
        if (typeof value !== 'string' || !value.startsWith(this.#mark)) continue;
        this.#open--;
        const exact = exactNumber(value.slice(this.#mark.length));
        // Defined, not assigned: a property called `__proto__` is an ordinary one.
        Object.defineProperty(one, name, { value: exact });
      }
    }
  }

  #marked(text: string, isEventStream: boolean): string {
    const prepared = (json: string) => {
      const mended = mendedText(json);
      return longNumber.test(mended) ? this.#inJson(mended) : mended;
    };
    if (!isEventStream) return prepared(text);
    return text.replaceAll(/^data:(.*)$/gm, (_line, json: string) => `data:${prepared(json)}`);
  }

  /** Marks the exact numbers in JSON, or in a line of JSON. No string of JSON goes on in another line. */
  #inJson(text: string): string {
    const tokens = /"|-?\d[\d.eE+-]*/g;
    let marked = '';
    let from = 0;
    for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
      const [token] = found;
      if (token === '"') tokens.lastIndex = stringEnd(text, found.index) + 1;
      else if (exactNumber(token)) {
        this.#open++;
        marked += `${text.slice(from, found.index)}"${this.#mark}${token}"`;
        from = tokens.lastIndex;
      }
    }
    return marked + text.slice(from);
  }
}
