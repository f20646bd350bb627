/** Returns the JSON Schema of `signalbox.yaml`, with which editors complete and check it. */
export async function configJsonSchema(): Promise<object> {
  const [{ z }, { configSchema }] = await Promise.all([import('zod'), import('./schema/config-schema.ts')]);
  return z.toJSONSchema(configSchema, { io: 'input' });
}
