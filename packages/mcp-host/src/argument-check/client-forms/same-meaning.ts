import { readSchema } from '../schema/read-schema.ts';
import { type SchemaGraph, SchemaProblem } from '../schema/schema-graph.ts';
import { SchemaValidator } from '../validator/schema-validator.ts';
import { OutOfSteps, StepMeter } from '../validator/step-meter.ts';
import { sampleValues } from './sample-values.ts';

/** The most steps for all values of one comparison. */
const maxSteps = 200_000;
/** The most schema objects of one schema that is compared. */
const maxObjects = 150;

/**
 * Tells whether two schemas accept the same of the values that are generated from both. Returns false also if none of these values fits,
 * if a pattern can't be checked, or if there are too many values. The same schemas always give the same answer.
 */
export function haveSameMeaning(one: unknown, other: unknown): boolean {
  try {
    return compare(graphOf(one), graphOf(other));
  } catch (thrown) {
    if (thrown instanceof SchemaProblem || thrown instanceof OutOfSteps || thrown instanceof RangeError)
      return false;
    throw thrown;
  }
}

function graphOf(schema: unknown): SchemaGraph {
  const graph = readSchema(schema);
  if (graph.unchecked.length > 0)
    throw new SchemaProblem(`a pattern can't be checked: ${graph.unchecked[0]}`);
  if (graph.objects > maxObjects) throw new SchemaProblem(`it has more than ${maxObjects} schema objects`);
  return graph;
}

function compare(one: SchemaGraph, other: SchemaGraph): boolean {
  const samples = [sampleValues(one), sampleValues(other)];
  if (samples.includes(undefined)) return false;
  const meter = new StepMeter();
  meter.refill(maxSteps);
  const [first, second] = [new SchemaValidator(one, meter), new SchemaValidator(other, meter)];
  let fitting = 0;
  for (const value of samples.flat()) {
    const fits = first.accepts(first.root, value);
    if (second.accepts(second.root, value) !== fits) return false;
    if (fits) fitting++;
  }
  return fitting > 0;
}
