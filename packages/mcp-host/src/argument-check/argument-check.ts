import { isExactNumber, messageOf } from '@signalbox/protocol';
import type { CheckedArguments } from '@signalbox/serving';
import { Coercion } from './coercion/coercion.ts';
import { argumentError, tooCostlyError } from './errors/argument-error.ts';
import { type Findings, findViolations } from './errors/find-violations.ts';
import { violationOf } from './errors/violation.ts';
import { withExactNumbers, withRoundedNumbers } from './json/exact-numbers.ts';
import { changesBetween } from './json/json-pointer.ts';
import { readSchema } from './schema/read-schema.ts';
import type { SchemaGraph } from './schema/schema-graph.ts';
import { SchemaValidator } from './validator/schema-validator.ts';
import { OutOfSteps, StepMeter } from './validator/step-meter.ts';

/** Checks the arguments of calls of one tool. */
export interface ArgumentCheck {
  /** The reason why no argument can be checked, for example that the schema refers outside itself. Then all arguments pass. */
  readonly problem: string | undefined;
  /** Patterns that can't be matched in linear time. Only these are left unchecked. */
  readonly unchecked: readonly string[];
  /** Checks the arguments of one call, without changing them. Arguments that fit are returned unchanged. Never throws. */
  check(args: Record<string, unknown>): CheckedArguments;
}

/** The most steps of each part of a check; a step is about one schema applied to one value. */
const maxSteps = { validate: 10_000_000, coerce: 1_000_000, listViolations: 1_000_000 };

/** Prepares the check of arguments against a JSON Schema, which is compiled when the check is first used. Never throws. */
export function compileArgumentCheck(schema: unknown): ArgumentCheck {
  let compiled: CompiledSchema | undefined;
  const ready = () => {
    compiled ??= compile(schema);
    return compiled;
  };
  return {
    get problem() {
      return ready().problem;
    },
    get unchecked() {
      return ready().check?.unchecked ?? [];
    },
    check(args) {
      const { check } = ready();
      if (!check) return { args, coerced: [] };
      try {
        return check.run(args);
      } catch (thrown) {
        compiled = { problem: `its check failed: ${messageOf(thrown)}` };
        return { args, coerced: [] };
      }
    },
  };
}

type CompiledSchema = { check: SchemaCheck; problem?: undefined } | { check?: undefined; problem: string };

function compile(schema: unknown): CompiledSchema {
  try {
    return { check: new SchemaCheck(readSchema(schema)) };
  } catch (thrown) {
    return { problem: `its schema can't be used: ${messageOf(thrown)}` };
  }
}

class SchemaCheck {
  readonly #graph: SchemaGraph;
  readonly #meter = new StepMeter();
  readonly #validator: SchemaValidator;

  constructor(graph: SchemaGraph) {
    this.#graph = graph;
    this.#validator = new SchemaValidator(graph, this.#meter);
  }

  get unchecked(): readonly string[] {
    return this.#graph.unchecked;
  }

  /** A schema knows doubles only, so that numbers are checked in their rounded form. The arguments keep their exact ones. */
  run(args: Record<string, unknown>): CheckedArguments {
    if (!holdsExactNumber(args)) return this.#run(args, args);
    const rounded = withRoundedNumbers(args);
    const checked = this.#run(rounded, args);
    if ('error' in checked) return checked;
    if (checked.args === rounded) return { ...checked, args };
    return { ...checked, args: withExactNumbers(checked.args, args) as Record<string, unknown> };
  }

  #run(args: Record<string, unknown>, given: Record<string, unknown>): CheckedArguments {
    const fits = this.#accepts(args);
    if (fits === undefined) return { error: tooCostlyError(this.#graph) };
    if (fits) return { args, coerced: [] };
    const coerced = this.#coerced(args);
    // A default may hold an exact number.
    const rounded = coerced === args ? args : withRoundedNumbers(coerced);
    if (coerced !== args && this.#accepts(rounded)) {
      return { args: coerced, coerced: changesBetween(args, coerced) };
    }
    return { error: argumentError(this.#graph, given, coerced, this.#findings(rounded)) };
  }

  /** Tells whether the arguments fit; `undefined` if the check would cost too much. */
  #accepts(args: Record<string, unknown>): boolean | undefined {
    return this.#within(maxSteps.validate, () => this.#validator.accepts(this.#validator.root, args));
  }

  /** Returns the coerced arguments, or the unchanged arguments if the coercion would cost too much. */
  #coerced(args: Record<string, unknown>): Record<string, unknown> {
    const coercion = new Coercion(this.#graph, this.#validator, this.#meter);
    const fitted = this.#within(maxSteps.coerce, () => coercion.fit(this.#validator.root, args));
    return (fitted ?? args) as Record<string, unknown>;
  }

  /** Finds all violations, or only the first one if all would cost too much. */
  #findings(args: Record<string, unknown>): Findings {
    const validator = this.#validator;
    const all = this.#within(maxSteps.listViolations, () => findViolations(this.#graph, validator, args));
    if (all) return all;
    const first = this.#within(maxSteps.validate, () => validator.firstViolation(validator.root, args)) ?? [];
    return { violations: first.flatMap((error) => violationOf(error) ?? []), isCut: true };
  }

  /** Returns the result of `work`; `undefined` if that takes more steps, or nests too deeply. */
  #within<T>(steps: number, work: () => T): T | undefined {
    this.#meter.refill(steps);
    try {
      return work();
    } catch (thrown) {
      if (thrown instanceof OutOfSteps || thrown instanceof RangeError) return undefined;
      throw thrown;
    }
  }
}

/** Tells whether there is an `ExactNumber` in an object of JSON. */
function holdsExactNumber(data: object): boolean {
  const open = [data];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (isExactNumber(one)) return true;
    for (const each of Object.values(one)) if (typeof each === 'object' && each !== null) open.push(each);
  }
  return false;
}
