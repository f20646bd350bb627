import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { createAjv, documentOf } from './metered-ajv.ts';
import { nodePrefix, type SchemaGraph, type SchemaNode } from './schema-graph.ts';
import type { StepMeter } from './step-meter.ts';

const key = 'tool';
const maxNesting = 500;

/** The nodes of a schema as functions, made when first asked for. All of them throw `OutOfSteps` when the meter says so. */
export class SchemaValidator {
  readonly #graph: SchemaGraph;
  readonly #meter: StepMeter;
  #stopping: Ajv2020 | undefined;
  #collecting: Ajv2020 | undefined;

  constructor(graph: SchemaGraph, meter: StepMeter) {
    this.#graph = graph;
    this.#meter = meter;
  }

  get root(): SchemaNode {
    return { $ref: `${nodePrefix}${this.#graph.root}` };
  }

  /** Compiles what every check needs. */
  prepare(): void {
    functionOf(this.#quick(), this.root);
  }

  /** `node`: a boolean, or a mere reference. */
  accepts(node: SchemaNode, value: unknown): boolean {
    if (typeof node === 'boolean') return node;
    return functionOf(this.#quick(), node)(value);
  }

  /** The first violation that is come upon. */
  violation(node: SchemaNode, value: unknown): ErrorObject[] {
    return errorsOf(functionOf(this.#quick(), node), value).slice(0, 1);
  }

  /** Every violation. */
  violations(node: SchemaNode, value: unknown): ErrorObject[] {
    return errorsOf(functionOf(this.#thorough(), node), value);
  }

  /** Stops at the first failure; its code nests with every schema, which is more than the stack holds for a large one. */
  #quick(): Ajv2020 {
    if (this.#graph.objects > maxNesting) return this.#thorough();
    this.#stopping ??= this.#ajv(false);
    return this.#stopping;
  }

  #thorough(): Ajv2020 {
    this.#collecting ??= this.#ajv(true);
    return this.#collecting;
  }

  #ajv(everyError: boolean): Ajv2020 {
    const ajv = createAjv({ patterns: this.#graph.patterns, meter: this.#meter, everyError });
    return ajv.addSchema(documentOf(this.#graph.nodes), key) as Ajv2020;
  }
}

function functionOf(ajv: Ajv2020, node: SchemaNode): ValidateFunction {
  const ref = typeof node === 'object' ? node.$ref : undefined;
  return ajv.getSchema(`${key}${ref}`) as ValidateFunction;
}

function errorsOf(validate: ValidateFunction, value: unknown): ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? []);
}
