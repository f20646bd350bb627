/** A text is reused for this many times as long as making it took: so making it takes at most a twentieth of the time. */
const freshFactor = 20;

/** Makes a text on request. A client that asks too often gets the same text again, so that its requests are never a load. */
export class CostlyText {
  readonly #make: () => Promise<string>;
  readonly #monotonic: () => number;
  #made: { text: Buffer; freshUntil: number } | undefined;
  #making: Promise<Buffer> | undefined;

  /** Begins without a text. `monotonic` returns milliseconds. */
  constructor(make: () => Promise<string>, monotonic: () => number) {
    this.#make = make;
    this.#monotonic = monotonic;
  }

  /** Resolves with the text. Requests at the same time share one. */
  async get(): Promise<Buffer> {
    if (this.#made && this.#monotonic() < this.#made.freshUntil) return this.#made.text;
    this.#making ??= this.#renew().finally(() => {
      this.#making = undefined;
    });
    return await this.#making;
  }

  async #renew(): Promise<Buffer> {
    const began = this.#monotonic();
    const text = Buffer.from(await this.#make());
    const now = this.#monotonic();
    this.#made = { text, freshUntil: now + freshFactor * (now - began) };
    return text;
  }
}
