import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { nodePrefix, type SchemaGraph, type SchemaNode } from '../schema/schema-graph.ts';
import { createAjv } from './metered-ajv.ts';
import type { StepMeter } from './step-meter.ts';

/** The name under which ajv knows the schema. */
const schemaKey = 'tool';

/**
 * The most schema objects for code that stops at the first violation. The code nests with every schema object, and the stack is too small
 * for more of them.
 */
const maxNestedObjects = 500;

/** Validates values by the nodes of a schema, each compiled when it is first used. Every method may throw `OutOfSteps`. */
export class SchemaValidator {
  /** A reference to the node with which the schema begins. */
  readonly root: SchemaNode;
  readonly #graph: SchemaGraph;
  readonly #meter: StepMeter;
  #stopsAtFirst: Ajv2020 | undefined;
  #findsAll: Ajv2020 | undefined;

  constructor(graph: SchemaGraph, meter: StepMeter) {
    this.root = { $ref: `${nodePrefix}${graph.root}` };
    this.#graph = graph;
    this.#meter = meter;
    // Compiled at once: every check needs it, and a schema that ajv can't compile is detected here.
    functionFor(this.#quickAjv(), this.root);
  }

  /** Tells whether a value fits; `node` is a boolean or a mere reference. */
  accepts(node: SchemaNode, value: unknown): boolean {
    if (typeof node === 'boolean') return node;
    return functionFor(this.#quickAjv(), node)(value);
  }

  /** Returns the violation that is found first, or none. */
  firstViolation(node: SchemaNode, value: unknown): ErrorObject[] {
    return errorsOf(functionFor(this.#quickAjv(), node), value).slice(0, 1);
  }

  /** Returns every violation. */
  violations(node: SchemaNode, value: unknown): ErrorObject[] {
    return errorsOf(functionFor(this.#thoroughAjv(), node), value);
  }

  #quickAjv(): Ajv2020 {
    if (this.#graph.objects > maxNestedObjects) return this.#thoroughAjv();
    this.#stopsAtFirst ??= this.#newAjv(false);
    return this.#stopsAtFirst;
  }

  #thoroughAjv(): Ajv2020 {
    this.#findsAll ??= this.#newAjv(true);
    return this.#findsAll;
  }

  #newAjv(findsAll: boolean): Ajv2020 {
    const ajv = createAjv(this.#graph.patterns, this.#meter, findsAll);
    return ajv.addSchema({ $defs: Object.fromEntries(this.#graph.nodes) }, schemaKey) as Ajv2020;
  }
}

function functionFor(ajv: Ajv2020, node: SchemaNode): ValidateFunction {
  const ref = typeof node === 'object' ? node.$ref : undefined;
  return ajv.getSchema(`${schemaKey}${ref}`) as ValidateFunction;
}

function errorsOf(validate: ValidateFunction, value: unknown): ErrorObject[] {
  return validate(value) ? [] : (validate.errors ?? []);
}
