import { messageOf } from '@signalbox/protocol';
import { errnoOf, mayMatchStart } from '@signalbox/protocol/internal';
import { readJsonDocument } from '../../document/read-json-document.ts';
import type { ClientFormat, ServerRules } from './client-format.ts';
import { asksFirst } from './meanings.ts';

type Rules = NonNullable<ClientFormat['rules']>;

/** The list `key` of the file names servers that are off. */
export const namedOff =
  (key: string): Rules =>
  (root, server) =>
    names(root[key]).includes(server) ? { disabled: true } : {};

/** Gemini's and Qwen's `mcp.allowed` and `mcp.excluded`. */
export const allowedServers: Rules = ({ mcp }, server) => {
  const { allowed, excluded } = Object(mcp);
  const isOff = names(excluded).includes(server) || (Array.isArray(allowed) && !allowed.includes(server));
  return isOff ? { disabled: true } : {};
};

/** `copilot mcp disable` writes the names of servers into the file beside that of the servers. */
export const copilotSwitches: Rules = (_, server, { readFile }) => {
  try {
    const read = readJsonDocument(readFile('./settings.json'));
    if ('problems' in read)
      return { refused: 'settings.json beside this file, which may switch it off, is not JSON' };
    return names(Object(read.document.toJS()).disabledMcpServers).includes(server) ? { disabled: true } : {};
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return {};
    return {
      refused: `settings.json beside this file, which may switch it off, cannot be read (${errnoOf(error) ?? messageOf(error)})`,
    };
  }
};

/**
 * opencode's rules for tools, whose names begin with those of their servers: `{ "files_*": false }` or `{ "files_*": "deny" }`. Of several
 * rules for a tool the last counts. A rule that begins with a star stays with the client: it is about the tools of Signalbox, too.
 */
export function prefixRules(prefix: string, sections: readonly unknown[]): ServerRules {
  const rules = sections
    .flatMap((section) => Object.entries(typeof section === 'object' && section !== null ? section : {}))
    .filter(([pattern]) => !pattern.startsWith('*') && mayMatchStart(pattern, prefix));
  if (rules.length === 0) return {};
  const isAbout = (wanted: readonly unknown[]) => rules.every(([, action]) => wanted.includes(action));
  const [[first, closing] = [], ...others] = rules;
  const own = (some: typeof rules) => some.map(([pattern]) => pattern.slice(prefix.length));
  if (rules.some(([pattern]) => !pattern.startsWith(prefix))) return { refused: rulesInTurn };
  if (isAbout(allowing)) return {};
  if (isAbout(denying)) return { excludeTools: own(rules) };
  if (!isAbout([...allowing, ...denying])) return { refused: asksFirst };
  const isClosedFirst = first === `${prefix}*` && denying.includes(closing);
  const areOpened = others.every(([, action]) => allowing.includes(action));
  return isClosedFirst && areOpened ? { includeTools: own(others) } : { refused: rulesInTurn };
}

const allowing: readonly unknown[] = [true, 'allow'];
const denying: readonly unknown[] = [false, 'deny'];
const rulesInTurn =
  'the file has rules for its tools that Signalbox cannot keep: write the server into signalbox.yaml';

function names(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
