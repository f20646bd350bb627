import type { FittedArguments, McpHost, ToolRoute } from '@signalbox/mcp-host';
import {
  messageOf,
  parseJson,
  repeatedName,
  repeatedNameText,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';

/** The arguments of a call as an object, or the problem that keeps them from being read. */
export type ParsedArguments =
  | { arguments: Record<string, unknown>; problem?: undefined }
  | { arguments?: undefined; problem: string };

/**
 * Reads the arguments of a call: an object, the JSON text of one (as language models emit it), or nothing for a tool
 * that takes none.
 */
export function parseArguments(value: unknown): ParsedArguments {
  if (value === undefined || value === '') return { arguments: {} };
  if (typeof value !== 'string') return asObject(value, 'arguments');
  try {
    const json = parseJson(value);
    const twice = repeatedName(value);
    if (twice !== undefined) return { problem: `the JSON text in arguments ${repeatedNameText(twice)}` };
    return asObject(json, 'the JSON text in arguments');
  } catch (thrown) {
    return { problem: `arguments is a string that cannot be read as JSON: ${messageOf(thrown)}` };
  }
}

/** The arguments of a call. If `fits` is absent, they are as they were written, and fit no known definition of the tool. */
export interface ReadArguments {
  args: Record<string, unknown>;
  fits?: FittedArguments['fits'];
  /** True if they are not as they were written. */
  isRewritten?: boolean;
  error?: undefined;
}

/**
 * Reads the arguments of a call as the server of its tool gets them, so that rules, people and server judge the same ones. With `asWritten`,
 * arguments that do not fit the present definition are returned as they were written.
 */
export function readArguments(
  host: Pick<McpHost, 'check'>,
  route: ToolRoute,
  value: unknown,
  { asWritten }: { asWritten: boolean },
): ReadArguments | { error: ToolCallError } {
  const { arguments: args, problem } = parseArguments(value);
  if (problem !== undefined)
    return { error: toolCallError('invalid_arguments', problem, { mayHaveRun: false }) };
  const checked = host.check(route, args) ?? { error: vanishedError(route.name) };
  if ('error' in checked) return asWritten ? { args } : checked;
  return { ...checked, isRewritten: checked.args !== args };
}

function vanishedError(tool: string): ToolCallError {
  const message = `the server of '${tool}' is not up, so that the arguments cannot be checked`;
  return toolCallError('mcp_server_unreachable', message, { mayHaveRun: false });
}

function asObject(value: unknown, what: string): ParsedArguments {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    return { arguments: value as Record<string, unknown> };
  }
  const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return { problem: `${what} must be a JSON object of parameter names and values, not ${found}` };
}
