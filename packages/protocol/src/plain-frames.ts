import { brokerShapes, clientShapes } from './frame-shapes.ts';
import { fits, type Shape } from './shape.ts';

/**
 * Whether it is a frame in which the schema would find no fault and drop nothing. Says so much faster than the schema
 * does, without loading it; any other frame is the schema's to judge.
 */
export function isPlainClientFrame(object: Record<string, unknown>): boolean {
  return isOneOf(clientShapes, object);
}

/** As {@link isPlainClientFrame}, for frames of the broker. */
export function isPlainBrokerFrame(object: Record<string, unknown>): boolean {
  return isOneOf(brokerShapes, object);
}

function isOneOf(shapes: ReadonlyMap<unknown, Shape>, object: Record<string, unknown>): boolean {
  const shape = shapes.get(object.type);
  return shape !== undefined && fits(object, shape);
}
