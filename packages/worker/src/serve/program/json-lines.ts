import { parseJson } from '@signalbox/protocol';
import type { z } from 'zod';

/** Returns the lines of a stream of JSON events that a schema accepts, in their order. Other lines are passed over. */
export function eventsIn<T>(text: string, schema: z.ZodType<T>): T[] {
  return text.split('\n').flatMap((line) => {
    const event = acceptedJson(line, schema);
    return event === undefined ? [] : [event];
  });
}

/** Returns the value of a JSON text if a schema accepts it; `undefined` for any other text. */
export function acceptedJson<T>(text: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.safeParse(parseJson(text)).data;
  } catch {
    return undefined;
  }
}
