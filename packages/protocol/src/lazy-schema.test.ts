import { expect, it } from 'vitest';
import { z } from 'zod';
import { lazySchema } from './lazy-schema.ts';

it('builds a schema at its first use, and once', () => {
  let built = 0;
  const schema = lazySchema((zod) => {
    built++;
    return zod.object({ name: zod.string() });
  });
  const holder = lazySchema((zod) => zod.object({ held: schema.optional() }));
  expect(built).toBe(0);
  expect(holder.parse({ held: { name: 'a', more: 1 } })).toEqual({ held: { name: 'a' } });
  expect(schema.safeParse({}).error?.issues[0]?.path).toEqual(['name']);
  expect(built).toBe(1);
});

it('gives a schema of the zod that others import', () => {
  const schema = lazySchema((zod) => zod.object({ name: zod.string() }));
  expect(schema instanceof z.ZodObject).toBe(true);
  expect(Object.keys(schema.shape)).toEqual(['name']);
  const listed = z.array(schema);
  expect(z.toJSONSchema(listed)).toEqual(z.toJSONSchema(z.array(z.object({ name: z.string() }))));
});
