import { z } from 'zod';

/** Makes the schema of one type of frame. Fields that it does not name are dropped when a frame is read. */
export function frameSchema<T extends string, Fields extends z.ZodRawShape>(
  type: T,
  description: string,
  fields: Fields,
) {
  return z.object({ type: z.literal(type), ...fields }).describe(description);
}
