import { posix } from 'node:path';
import type { ToolOrigin } from '@signalbox/mcp-host';
import {
  bodyLimits,
  defaultAskDeadlineMs,
  isExactNumber,
  matchesPattern,
  parseJson,
  plainSpelling,
  repeatedName,
  type Tool,
} from '@signalbox/protocol';
import { matchesTool } from '../roles/tool-pattern.ts';

/**
 * A rule that makes calls wait for a decision: a pattern of tools, or an object whose parts must all match. `annotations: destructive`
 * matches a tool unless its server declares it to be read-only or not destructive. `hidden: deny` denies a matching call if a value of it
 * would be hidden from those who decide.
 */
export type AskRule =
  | string
  | {
      tool?: string | undefined;
      when?: ArgumentPatterns | undefined;
      annotations?: 'destructive' | undefined;
      hidden?: 'deny' | undefined;
    };

/** The rules on calls that wait for a decision. */
export interface ApprovalPolicy {
  /** The rules of each role, by its name. A call waits if any of them matches. */
  roles: Readonly<Record<string, readonly AskRule[]>>;
  /** The time after which a waiting call ends, in milliseconds. */
  deadlineMs: number;
  /** The agents and groups that get a note of each call that waits. */
  notify: readonly string[];
}

/** A policy under which no call waits. */
export const noApprovals: ApprovalPolicy = { roles: {}, deadlineMs: defaultAskDeadlineMs, notify: [] };

/** A tool, and its origin if that is known. */
export interface AskedTool {
  tool: Tool;
  origin: ToolOrigin | undefined;
}

/** The names of the rules that match a call. */
export interface MatchingRules {
  /** The first rule that makes the call wait; `undefined` if it does not wait. */
  asks: string | undefined;
  /** Returns the first rule that denies the call if a value of it would be hidden; `undefined` if none does. */
  deniesHidden: () => string | undefined;
}

/** Finds the rules that match a call of a role. They share one reading of the arguments. */
export function matchingRules(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
  args: Readonly<Record<string, unknown>>,
): MatchingRules {
  const matcher = new ArgumentMatcher(args);
  const first = (counts: (rule: AskRule) => boolean): string | undefined => {
    const means = (rule: AskRule) => counts(rule) && meansTool(rule, tool) && meansArguments(rule, matcher);
    const at = rulesOf(roles, role)?.findIndex(means) ?? -1;
    return at < 0 ? undefined : ruleName(role, at);
  };
  return { asks: first(() => true), deniesHidden: () => first(deniesHidden) };
}

/** Tells whether some call of the tool by this role may have to wait. */
export function mayAsk({ roles }: Pick<ApprovalPolicy, 'roles'>, role: string, tool: AskedTool): boolean {
  return rulesOf(roles, role)?.some((rule) => meansTool(rule, tool)) ?? false;
}

/** Says whether calls wait, and the names of the rules that decide that. */
export interface AskExplanation {
  ask: 'no' | 'yes' | 'by_arguments';
  /** The rule that makes calls wait. */
  rule?: string | undefined;
  /** The rule that denies a call if a value of it would be hidden from those who decide. */
  hiddenRule?: string | undefined;
}

/** Tells whether calls of the tool by this role wait, or whether that depends on their arguments. */
export function explainAsk(
  { roles }: Pick<ApprovalPolicy, 'roles'>,
  role: string,
  tool: AskedTool,
): AskExplanation {
  const rules = [...(rulesOf(roles, role) ?? []).entries()].filter(([, rule]) => meansTool(rule, tool));
  const nameOf = (found: (typeof rules)[number] | undefined) => found && ruleName(role, found[0]);
  const always = nameOf(rules.find(([, rule]) => whenOf(rule) === undefined));
  const rule = always ?? nameOf(rules[0]);
  if (rule === undefined) return { ask: 'no' };
  const hiddenRule = nameOf(rules.find(([, one]) => deniesHidden(one)));
  return { ask: always === undefined ? 'by_arguments' : 'yes', rule, hiddenRule };
}

function rulesOf(roles: ApprovalPolicy['roles'], role: string): readonly AskRule[] | undefined {
  return Object.hasOwn(roles, role) ? roles[role] : undefined;
}

function ruleName(role: string, at: number): string {
  return `roles.${role}.ask[${at}]`;
}

function meansTool(rule: AskRule, { tool, origin }: AskedTool): boolean {
  if (typeof rule === 'string') return matchesTool(rule, tool.name, origin);
  if (rule.tool !== undefined && !matchesTool(rule.tool, tool.name, origin)) return false;
  return rule.annotations === undefined || isDestructive(tool);
}

/** Tells whether a tool is destructive. By MCP, it is unless its server says otherwise. */
function isDestructive({ annotations }: Tool): boolean {
  return annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false;
}

function deniesHidden(rule: AskRule): boolean {
  return typeof rule === 'object' && rule.hidden === 'deny';
}

function whenOf(rule: AskRule): ArgumentPatterns | undefined {
  return typeof rule === 'string' ? undefined : rule.when;
}

function meansArguments(rule: AskRule, matcher: ArgumentMatcher): boolean {
  const when = whenOf(rule);
  return when === undefined || matcher.matches(when);
}

/**
 * Patterns for argument values, by the name of the argument. A name with dots leads into objects, and into the objects in lists, as in
 * `target.path`. `*` stands for any run of characters, including `/`.
 */
export type ArgumentPatterns = Readonly<Record<string, string | readonly string[]>>;

/**
 * Compares the arguments of one call with the patterns of rules. Each JSON text in them is parsed once, and all comparisons together take
 * at most `maxSteps`, so that no call holds up others. Where a comparison has no answer, because a text can't be read or the steps are used
 * up, the pattern counts as matching: no call evades a rule so.
 */
export class ArgumentMatcher {
  readonly #args: Readonly<Record<string, unknown>>;
  readonly #opened = new Map<string, object | undefined>();
  readonly #values = new Map<string, readonly string[] | undefined>();
  readonly #paths = new Map<string, readonly string[]>();
  #steps: number;

  /** `maxSteps` bounds the values that are visited, the texts that are parsed and the comparisons. */
  constructor(args: Readonly<Record<string, unknown>>, maxSteps: number = bodyLimits.maxNodes) {
    this.#args = args;
    this.#steps = maxSteps;
  }

  /**
   * Tells whether the arguments match every pattern. A missing argument matches none. In a list or an object any value counts, also in one
   * that is written as JSON text, because a server may read it so. A path is also compared without `.`, `..` and repeated slashes, so that
   * no other spelling evades a rule. So is a number that a double would change, without its exponent.
   */
  matches(patterns: ArgumentPatterns): boolean {
    return Object.entries(patterns).every(([name, pattern]) => {
      const values = this.#valuesAt(name);
      if (values === undefined) return true;
      return [pattern].flat().some((one) => values.some((value) => this.#matchesValue(one, value)));
    });
  }

  /** Returns the different texts of all values of an argument; `undefined` if they can't all be known. */
  #valuesAt(name: string): readonly string[] | undefined {
    if (!this.#values.has(name)) this.#values.set(name, this.#collectAt(name));
    return this.#values.get(name);
  }

  #collectAt(name: string): readonly string[] | undefined {
    const fields = this.#fieldsAt(name);
    if (fields === undefined) return undefined;
    const reached = new Set(fields);
    if (Object.hasOwn(this.#args, name)) reached.add(this.#args[name]);
    const texts = new Set<string>();
    // A set is walked to its end, also over values that are added meanwhile, and holds equal texts once.
    for (const value of reached) {
      if (isExactNumber(value)) texts.add(value.rawJSON).add(plainSpelling(value));
      else if (!isContainer(value)) texts.add(String(value));
      const inner = this.#open(value);
      if (inner === unreadable) return undefined;
      if (inner !== undefined && !this.#addAll(reached, Object.values(inner))) return undefined;
    }
    return [...texts];
  }

  /** Returns the fields to which a name with dots leads. For a list, these are the fields of all its objects. */
  #fieldsAt(name: string): readonly unknown[] | undefined {
    let values: readonly unknown[] = [this.#args];
    for (const key of name.split('.')) {
      const fields = this.#fieldsOf(values, key);
      if (fields === undefined) return undefined;
      values = fields;
    }
    return values;
  }

  #fieldsOf(values: readonly unknown[], key: string): readonly unknown[] | undefined {
    const reached = new Set(values);
    const fields: unknown[] = [];
    for (const value of reached) {
      const inner = this.#open(value);
      if (inner === unreadable) return undefined;
      if (inner === undefined) continue;
      if (Object.hasOwn(inner, key)) fields.push(Reflect.get(inner, key));
      if (Array.isArray(inner) && !this.#addAll(reached, inner)) return undefined;
    }
    return fields;
  }

  /** Adds values that are to be visited. Returns false if that exceeds the bound. */
  #addAll(reached: Set<unknown>, values: readonly unknown[]): boolean {
    if (!this.#takeSteps(values.length)) return false;
    for (const value of values) reached.add(value);
    return true;
  }

  /** Returns a list or an object, also one that is written as JSON text. */
  #open(value: unknown): object | typeof unreadable | undefined {
    if (isContainer(value)) return value;
    if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return undefined;
    if (!this.#opened.has(value)) {
      if (!this.#takeSteps(parsingSteps(value))) return unreadable;
      this.#opened.set(value, parsed(value));
    }
    return this.#opened.get(value) ?? unreadable;
  }

  #matchesValue(pattern: string, value: string): boolean {
    if (!this.#takeSteps(1) || matchesPattern(pattern, value)) return true;
    return pattern.includes('/') && this.#pathsOf(value).some((path) => matchesPattern(pattern, path));
  }

  /** Returns the other spellings of a value that is a path. */
  #pathsOf(value: string): readonly string[] {
    const known = this.#paths.get(value);
    if (known !== undefined) return known;
    const path = posix.normalize(value);
    // A pattern for everything in a folder matches the folder, too.
    const paths = [path, path.endsWith('/') ? path : `${path}/`].filter((one) => one !== value);
    this.#paths.set(value, paths);
    return paths;
  }

  /** Returns false if the bound is exceeded. It stays so for the rest of the call. */
  #takeSteps(count: number): boolean {
    this.#steps -= count;
    return this.#steps >= 0;
  }
}

/** Stands for a text that begins like a list or an object of JSON and can't be read for certain. Another reader may find values in it. */
const unreadable = Symbol('unreadable');

/** Returns the steps that the parsing of a text counts beside its values. Texts inside texts are long, with few values. */
function parsingSteps(text: string): number {
  return 4 + text.length / 16;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}

/** Returns the list or the object that a text holds; `undefined` if it can't be read, or if other readers may find other values in it. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = parseJson(text);
    return isContainer(value) && repeatedName(text) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}
