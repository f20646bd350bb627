/** Thrown for damage that the store repairs before it tries again: see `LogStructuredStore.repair`. */
export class DamageFound extends Error {
  /** The segment whose content is damaged; undefined if another table is. */
  readonly segment: number | undefined;

  constructor(segment?: number) {
    super('the store is damaged');
    this.segment = segment;
  }
}
