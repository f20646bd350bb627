import { suggestion } from '@signalbox/protocol/internal';
import { z } from 'zod';
import { nonEmpty, toolPattern } from './value-schemas.ts';

const valuePatterns = z.union([nonEmpty, z.array(nonEmpty).min(1)], {
  error: 'must be a text in quotes, a pattern with *, or a list of them',
});

const conditionsSchema = z
  .record(nonEmpty, valuePatterns, {
    error: ({ code }) =>
      code === 'invalid_type' ? 'must name arguments, as in { path: /srv/prod/** }' : undefined,
  })
  .refine((when) => Object.keys(when).length > 0, { error: 'must name at least one argument' });

const ruleKeys = ['tool', 'when', 'annotations', 'hidden'] as const;

const ruleSchema = z
  .strictObject({
    tool: toolPattern.optional(),
    when: conditionsSchema.optional(),
    annotations: z.literal('destructive').optional(),
    hidden: z.literal('deny').optional(),
  })
  .refine(({ tool, annotations }) => tool !== undefined || annotations !== undefined, {
    error: "must name tools: add tool, as in { tool: 'github:*', when: { … } }",
  });

/** A rule of `roles.X.ask` as it is written: a pattern of tools, or an object that says more. */
export const askRuleSchema = z.union([toolPattern, ruleSchema], {
  error: ({ input, ...issue }) => askRuleProblem(input, issue as Partial<UnionIssue>),
});

interface UnionIssue {
  errors: readonly (readonly { path: readonly PropertyKey[]; message: string; code: string }[])[];
}

const forms =
  'must be a pattern of tools, { tool: PATTERN, when: { ARGUMENT: VALUE } } or { annotations: destructive }';

function askRuleProblem(input: unknown, { errors = [] }: Partial<UnionIssue>): string {
  if (typeof input === 'string') return errors[0]?.[0]?.message ?? forms;
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return forms;
  const unknown = Object.keys(input).find((key) => !(ruleKeys as readonly string[]).includes(key));
  if (unknown !== undefined)
    return `'${unknown}' is not a key of a rule${suggestion(unknown, ruleKeys)}; ${forms}`;
  const { annotations, hidden } = input as { annotations?: unknown; hidden?: unknown };
  if (annotations !== undefined && annotations !== 'destructive')
    return "annotations must be 'destructive'; name other tools with tool";
  if (hidden !== undefined && hidden !== 'deny')
    return "hidden must be 'deny': calls with a hidden value are then denied; without it a person is asked";
  const [issue] = errors[1] ?? [];
  if (issue === undefined) return forms;
  return issue.path.length === 0 ? issue.message : `${issue.path.join('.')} ${issue.message}`;
}
