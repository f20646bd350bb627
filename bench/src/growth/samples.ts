import { median } from '../statistics.ts';
import type { Cost, CostKind } from './growth-report.ts';

/** Gathers what is measured, cost by cost and size by size. */
export class Samples<Name extends string> {
  readonly #sizes: number;
  readonly #kinds: Record<Name, CostKind>;
  readonly #samples = new Map<Name, number[][]>();

  constructor(sizes: number, kinds: Record<Name, CostKind>) {
    this.#sizes = sizes;
    this.#kinds = kinds;
  }

  add(name: Name, size: number, ...values: number[]): void {
    let ofCost = this.#samples.get(name);
    if (!ofCost) {
      ofCost = Array.from({ length: this.#sizes }, () => []);
      this.#samples.set(name, ofCost);
    }
    ofCost[size]!.push(...values);
  }

  /** Those that were measured at all, in the order of the kinds. */
  costs(): Cost[] {
    const names = Object.keys(this.#kinds) as Name[];
    return names.flatMap((name) => {
      const samples = this.#samples.get(name);
      if (!samples) return [];
      return [{ ...this.#kinds[name], values: samples.map(medianOrNull), samples }];
    });
  }
}

function medianOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : median(values);
}
