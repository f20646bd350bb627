import { parseJson } from '@signalbox/protocol';
import type { z } from 'zod';

/** Returns the lines of a stream of JSON events that a schema accepts, in their order. Other lines are passed over. */
export function eventsIn<T>(text: string, schema: z.ZodType<T>): T[] {
  return text.split('\n').flatMap((line) => {
    const event = schema.safeParse(jsonOf(line));
    return event.success ? [event.data] : [];
  });
}

function jsonOf(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}
