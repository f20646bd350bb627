import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { configSchema, outsideAgentSchema, roleEntrySchema } from './config-schema.ts';
import { hookEntrySchema } from './hook-schema.ts';
import { scheduleEntrySchema } from './schedule-schema.ts';
import { mcpServerSchema } from './server-schema.ts';

const guide = readFileSync(new URL('../../../../../docs/guide/configuration.md', import.meta.url), 'utf8');

/** The rows of a table with every key of a schema. A mapping without a description is listed by its own keys. */
function optionRows(schema: z.ZodObject, prefix = ''): string[] {
  return Object.entries(schema.shape).flatMap(([key, option]) => {
    const inner = option instanceof z.ZodOptional ? option.unwrap() : option;
    const { description } = option as z.ZodType;
    if (description === undefined && inner instanceof z.ZodObject)
      return optionRows(inner, `${prefix}${key}.`);
    return `| \`${prefix}${key}\` | ${description ?? 'IS NOT DESCRIBED'} |`;
  });
}

test.each([
  ['the whole file', configSchema],
  ['a server', mcpServerSchema],
  ['a role', roleEntrySchema],
  ['a webhook', hookEntrySchema],
  ['a schedule', scheduleEntrySchema],
  ['an agent for clients of A2A', outsideAgentSchema],
] as const)('The guide has a table with every key of %s, in the words of the schema.', (_, schema) => {
  expect(guide).toContain(['| key | meaning |', '| --- | --- |', ...optionRows(schema), ''].join('\n'));
});
