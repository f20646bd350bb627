import { keptRangeLimits, leastInlineBytes, SignalboxError } from '@signalbox/protocol';

/** The rule which decides what results of a role are kept instead of being shown. */
export interface ResultRule {
  /** The longest result that is shown, in bytes of JSON. */
  maxInlineBytes: number;
}

/** The rule of each role. Results of a role without one are always shown. */
export type ResultRules = Readonly<Record<string, ResultRule>>;

/** The longest part that a role without a rule reads at once, in bytes. */
const defaultPartBytes = 64 * 1024;

/** Returns the rule of a role; `undefined` if it has none. */
export function resultRuleOf(rules: ResultRules, role: string): ResultRule | undefined {
  return Object.hasOwn(rules, role) ? rules[role] : undefined;
}

/** Returns the longest part of a kept result that a role is shown at once, in bytes. */
export function partBytes(rule: ResultRule | undefined): number {
  return Math.min(rule?.maxInlineBytes ?? defaultPartBytes, keptRangeLimits.bytes);
}

/** Throws `SignalboxError` `bad_config` for rules under which previews would be larger than their results. */
export function checkResultRules(rules: ResultRules): void {
  for (const [role, { maxInlineBytes }] of Object.entries(rules)) {
    if (Number.isSafeInteger(maxInlineBytes) && maxInlineBytes >= leastInlineBytes) continue;
    const message = `roles.${role}.results.maxInlineBytes must be a whole number from ${leastInlineBytes}`;
    throw new SignalboxError('bad_config', message);
  }
}
