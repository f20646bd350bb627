import type { ElementType, Value } from './statement.ts';

/** The most bytes that a UTF-16 code unit takes in UTF-8. */
const maxBytesPerUnit = 3;

const typeNumbers: Readonly<Record<ElementType, number>> = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  int: 23,
  text: 25,
};

/** Writes messages of PostgreSQL's protocol, version 3, one after the other. */
export class WireWriter {
  #buffer: Buffer;
  #at = 0;

  /** `bytes` is an estimate of the written bytes. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes);
  }

  /** The bytes that were written. */
  written(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  /** Makes the server prepare a statement under a name, after it has dropped another one with this name. */
  prepare(name: string, text: string): void {
    if (name !== '') this.#message(0x43 /* Close */, () => this.#cString(`S${name}`));
    this.#message(0x50 /* Parse */, () => {
      this.#cString(name);
      this.#cString(text);
      this.#int16(0);
    });
  }

  /** Gives a prepared statement its values. The columns of its rows come as text. */
  bind(name: string, values: readonly Value[], arrays: readonly (ElementType | undefined)[]): void {
    this.#message(0x42 /* Bind */, () => {
      this.#cString('');
      this.#cString(name);
      this.#int16(values.length);
      for (const value of values) this.#int16(typeof value === 'object' && value !== null ? 1 : 0);
      this.#int16(values.length);
      for (const [place, value] of values.entries()) this.#value(value, arrays[place]);
      this.#int16(0);
    });
  }

  /** Asks for the columns of the rows. */
  describe(): void {
    this.#message(0x44 /* Describe */, () => this.#cString('P'));
  }

  execute(): void {
    this.#message(0x45 /* Execute */, () => {
      this.#cString('');
      this.#int32(0);
    });
  }

  /** Ends the messages that the server answers together. */
  sync(): void {
    this.#message(0x53 /* Sync */, () => {});
  }

  #message(type: number, write: () => void): void {
    this.#reserve(5);
    this.#buffer[this.#at++] = type;
    this.#sized(write, 4);
  }

  /** Writes a length before the bytes that `write` writes. The length also counts `more` bytes. */
  #sized(write: () => void, more: number): void {
    this.#reserve(4);
    const start = this.#at;
    this.#at += 4;
    write();
    this.#buffer.writeInt32BE(this.#at - start - 4 + more, start);
  }

  #value(value: Value, type: ElementType | undefined): void {
    if (value === null) this.#int32(-1);
    else if (Buffer.isBuffer(value)) this.#bytes(value);
    else if (typeof value === 'object') {
      if (type === undefined) throw new TypeError('a statement does not say of which type an array is');
      this.#sized(() => this.#array(value as readonly (string | number | boolean | null)[], type), 0);
    } else this.#text(String(value));
  }

  #array(values: readonly (string | number | boolean | null)[], type: ElementType): void {
    const isEmpty = values.length === 0;
    this.#int32(isEmpty ? 0 : 1);
    this.#int32(values.includes(null) ? 1 : 0);
    this.#int32(typeNumbers[type]);
    if (isEmpty) return;
    this.#int32(values.length);
    this.#int32(1);
    for (const value of values)
      if (value === null) this.#int32(-1);
      else if (typeof value === 'string') this.#text(value);
      else this.#element(Number(value), type);
  }

  /** Writes a number, or a boolean as 0 or 1, in as many bytes as its type has. */
  #element(value: number, type: ElementType): void {
    if (!Number.isSafeInteger(value)) throw new TypeError(`${value} is no whole number`);
    if (type === 'boolean') {
      this.#int32(1);
      this.#reserve(1);
      this.#buffer[this.#at++] = value;
    } else if (type === 'int') {
      this.#int32(4);
      this.#int32(value);
    } else {
      this.#int32(8);
      this.#reserve(8);
      this.#at = this.#buffer.writeInt32BE(Math.floor(value / 2 ** 32), this.#at);
      this.#at = this.#buffer.writeUInt32BE(value >>> 0, this.#at);
    }
  }

  #text(text: string): void {
    this.#reserve(4 + maxBytesPerUnit * text.length);
    const length = this.#buffer.write(text, this.#at + 4);
    this.#at = this.#buffer.writeInt32BE(length, this.#at) + length;
  }

  #bytes(bytes: Buffer): void {
    this.#reserve(4 + bytes.length);
    this.#at = this.#buffer.writeInt32BE(bytes.length, this.#at);
    this.#at += bytes.copy(this.#buffer, this.#at);
  }

  #cString(text: string): void {
    this.#reserve(maxBytesPerUnit * text.length + 1);
    this.#at += this.#buffer.write(text, this.#at);
    this.#buffer[this.#at++] = 0;
  }

  #int16(value: number): void {
    this.#reserve(2);
    this.#at = this.#buffer.writeInt16BE(value, this.#at);
  }

  #int32(value: number): void {
    this.#reserve(4);
    this.#at = this.#buffer.writeInt32BE(value, this.#at);
  }

  /** Makes room for this many bytes. */
  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
