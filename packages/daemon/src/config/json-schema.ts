import { z } from 'zod';

/** Returns the JSON Schema of `signalbox.yaml`, with which editors complete and check it. */
export async function configJsonSchema(): Promise<object> {
  const { configSchema } = await import('./schema/config-schema.ts');
  return z.toJSONSchema(configSchema, { io: 'input' });
}
