import { messageOf, type Tool, type ToolCallError } from '@signalbox/protocol';
import { argumentError, tooCostlyError } from './argument-error.ts';
import { Coercion } from './coercion.ts';
import { changesBetween } from './json-pointer.ts';
import type { SchemaGraph } from './schema-graph.ts';
import { readSchema } from './schema-reader.ts';
import { SchemaValidator } from './schema-validator.ts';
import { OutOfSteps, StepMeter } from './step-meter.ts';
import { violationOf } from './violation-text.ts';
import { type Findings, findViolations } from './violations.ts';

/** Arguments ready to be sent (`coerced`: JSON pointers of what was rewritten without loss), or all that is wrong with them. */
export type CheckedArguments =
  | { args: Record<string, unknown>; coerced: string[] }
  | { error: ToolCallError };

/** The check of one tool's arguments. */
export interface ArgumentCheck {
  /** Why nothing can be checked, e.g. a schema that refers outside itself; then everything passes. */
  readonly problem: string | undefined;
  /** Patterns that can't be matched in linear time; only these are left unchecked. */
  readonly unchecked: readonly string[];
  /** Never throws and never changes what it is given. Arguments that fit are returned as they are. */
  check(args: Record<string, unknown>): CheckedArguments;
}

/** How much work one check may be, in schemas applied to values. */
const steps = { check: 10_000_000, coerce: 1_000_000, list: 1_000_000 };

/** Compiled once per tool schema, at the first use of the check; never throws. */
export function compileArguments(tool: Tool): ArgumentCheck {
  let state: CheckState | undefined;
  const ready = () => {
    state ??= prepare(tool.inputSchema);
    return state;
  };
  return {
    get problem() {
      return ready().problem;
    },
    get unchecked() {
      return ready().unchecked;
    },
    check(args) {
      const { check } = ready();
      if (!check) return { args, coerced: [] };
      try {
        return check.run(args);
      } catch (thrown) {
        state = { problem: `its check failed: ${messageOf(thrown)}`, unchecked: [], check: undefined };
        return { args, coerced: [] };
      }
    },
  };
}

interface CheckState {
  problem: string | undefined;
  unchecked: readonly string[];
  check: SchemaCheck | undefined;
}

function prepare(schema: unknown): CheckState {
  try {
    const graph = readSchema(schema);
    const check = new SchemaCheck(graph);
    return { problem: undefined, unchecked: graph.unchecked, check };
  } catch (thrown) {
    return { problem: `its schema can't be used: ${messageOf(thrown)}`, unchecked: [], check: undefined };
  }
}

class SchemaCheck {
  readonly #graph: SchemaGraph;
  readonly #meter = new StepMeter();
  readonly #validator: SchemaValidator;

  constructor(graph: SchemaGraph) {
    this.#graph = graph;
    this.#validator = new SchemaValidator(graph, this.#meter);
    this.#validator.prepare();
  }

  run(args: Record<string, unknown>): CheckedArguments {
    const fits = this.#within(steps.check, () => this.#accepts(args));
    if (fits === undefined) return { error: tooCostlyError(this.#graph) };
    if (fits) return { args, coerced: [] };
    const fitted = this.#within(steps.coerce, () => this.#coerced(args)) ?? args;
    if (fitted !== args && this.#within(steps.check, () => this.#accepts(fitted))) {
      return { args: fitted, coerced: changesBetween(args, fitted) };
    }
    return { error: argumentError(this.#graph, args, fitted, this.#findings(fitted)) };
  }

  #accepts(args: Record<string, unknown>): boolean {
    return this.#validator.accepts(this.#validator.root, args);
  }

  #coerced(args: Record<string, unknown>): Record<string, unknown> {
    const coercion = new Coercion(this.#graph, this.#validator, this.#meter);
    return coercion.fit(this.#validator.root, args) as Record<string, unknown>;
  }

  /** Every violation, or of very large arguments the first. */
  #findings(args: Record<string, unknown>): Findings {
    const all = this.#within(steps.list, () => findViolations(this.#graph, this.#validator, args));
    if (all) return all;
    const first =
      this.#within(steps.check, () => this.#validator.violation(this.#validator.root, args)) ?? [];
    return { violations: first.flatMap((error) => violationOf(error) ?? []), cut: true };
  }

  /** What `work` returns, or `undefined` if it is more than so many steps or nests too deeply. */
  #within<T>(limit: number, work: () => T): T | undefined {
    this.#meter.refill(limit);
    try {
      return work();
    } catch (thrown) {
      if (thrown instanceof OutOfSteps || thrown instanceof RangeError) return undefined;
      throw thrown;
    }
  }
}
