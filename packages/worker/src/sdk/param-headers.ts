import { isExactNumber, isJsonObject, type Tool } from '@signalbox/protocol';
import type { FaceTools } from '../tools/face-tools.ts';

/** The prefix of the headers that repeat arguments of a call (MCP 2026-07-28). */
export const paramHeaderPrefix = 'mcp-param-';

/** Headers, whose names are in lower case. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Checks the headers of calls that repeat arguments. It remembers which tools want them until the list of tools changes. */
export class HeaderChecks {
  readonly #tools: FaceTools;
  #declaring: ReadonlyMap<unknown, Tool> | undefined;
  /** Stops following the list of tools. */
  readonly close: () => void;

  constructor(tools: FaceTools) {
    this.#tools = tools;
    this.close = tools.onChanged(() => {
      this.#declaring = undefined;
    });
  }

  /** Returns the reason why the headers of a call do not repeat its arguments as its tool demands. */
  mismatchOf({ message, headers }: { message: unknown; headers: Headers }): string | undefined {
    const { method, params } = (message ?? {}) as { method?: unknown; params?: Record<string, unknown> };
    if (method !== 'tools/call') return undefined;
    this.#declaring ??= new Map(
      this.#tools
        .list()
        .filter(({ inputSchema }) => declaredIn(inputSchema, []).length > 0)
        .map((tool) => [tool.name, tool]),
    );
    const tool = this.#declaring.get(params?.name);
    return tool && paramMismatch(tool, params?.arguments, headers);
  }
}

interface Declared {
  /** The header without its prefix. */
  header: string;
  path: readonly string[];
}

/**
 * Returns the reason why the headers of a call do not fit its arguments; `undefined` if they do. A tool declares by `x-mcp-header` in its
 * input schema which of its arguments a client has to repeat. An argument that is missing or null needs no header. `headers` have
 * lower-case names.
 */
export function paramMismatch(
  { inputSchema }: Pick<Tool, 'inputSchema'>,
  args: unknown,
  headers: Headers,
): string | undefined {
  for (const { header, path } of declaredIn(inputSchema, [])) {
    const found = path.reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), args);
    const value = isExactNumber(found) ? found.rawJSON : found;
    if (!['string', 'number', 'boolean'].includes(typeof value)) continue;
    const name = `Mcp-Param-${header}`;
    const given = headers[`${paramHeaderPrefix}${header.toLowerCase()}`];
    const argument = `the argument ${path.join('.')}`;
    if (given === undefined) return `${argument} is not repeated in the header ${name}`;
    const decoded = decodedValue(String(given));
    if (decoded === undefined) return `the header ${name} is not valid Base64`;
    if (!isSame(decoded, value)) return `the header ${name} and ${argument} differ`;
  }
  return undefined;
}

/** Lists the declarations that can be reached by `properties` alone: others are not valid. */
function declaredIn(schema: unknown, path: readonly string[]): Declared[] {
  if (!isJsonObject(schema)) return [];
  const { 'x-mcp-header': header, properties } = schema;
  const own = typeof header === 'string' && header !== '' && path.length > 0 ? [{ header, path }] : [];
  if (!isJsonObject(properties)) return own;
  const below = Object.entries(properties).flatMap(([key, inner]) => declaredIn(inner, [...path, key]));
  return [...own, ...below];
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decimal = /^-?\d+(\.\d+)?$/;

/** Reads a value that may be wrapped as `=?base64?…?=`; `undefined` if it is wrapped and cannot be read. */
function decodedValue(text: string): string | undefined {
  const wrapped = /^=\?base64\?(.*)\?=$/.exec(text)?.[1];
  if (wrapped === undefined) return text;
  if (!base64.test(wrapped)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(wrapped, 'base64'));
  } catch {
    return undefined;
  }
}

function isSame(header: string, value: unknown): boolean {
  if (typeof value === 'number' && decimal.test(header)) return Number(header) === value;
  return header === String(value);
}
