import { mayMatchStart } from '@signalbox/protocol/internal';
import type { ClientFormat, ServerRules, SwitchFile } from './client-format.ts';
import { asksFirst } from './meanings.ts';

type Rules = NonNullable<ClientFormat['rules']>;

/** Joins what several rules say about a server. */
export const allOf =
  (...all: readonly Rules[]): Rules =>
  (root, server) => {
    const said = all.map((rules) => rules(root, server));
    const refused = said.find((rules) => rules.refused !== undefined)?.refused;
    if (refused !== undefined) return { refused };
    const excludeTools = said.flatMap((rules) => rules.excludeTools ?? []);
    return {
      ...(said.some(({ disabled }) => disabled) && { disabled: true }),
      ...(excludeTools.length > 0 && { excludeTools }),
    };
  };

/** The list `key` of the file names servers that are off. */
export const namedOff =
  (key: string): Rules =>
  (root, server) =>
    isListed(root[key], server, key);

/** Gemini's and Qwen's `mcp.allowed` and `mcp.excluded`. Gemini reads the names of servers in any case. */
export const allowedServers: Rules = ({ mcp }, server) => {
  const { allowed, excluded } = Object(mcp);
  const others = isListed(allowed, server, 'mcp.allowed');
  if (allowed !== undefined && !others.disabled) return { disabled: true, ...others };
  return isListed(excluded, server, 'mcp.excluded');
};

/** Returns that a server is off if a list names it. A list that can't be read could name it. */
function isListed(list: unknown, server: string, key: string): ServerRules {
  if (list === undefined) return {};
  if (!isNames(list)) return { refused: `'${key}' of the file must be a list of names` };
  return list.some((name) => isSameName(name, server)) ? { disabled: true } : {};
}

/** `copilot mcp disable` writes the names of servers into the file beside that of the servers. */
export const copilotSwitches: SwitchFile = {
  path: './settings.json',
  isOff: ({ disabledMcpServers: names }, server) =>
    names !== undefined && (!isNames(names) || names.some((name) => isSameName(name, server))),
};

/** `gemini mcp disable` writes `{ "NAME": { "enabled": false } }` into one file for the servers of all its files. */
export const geminiSwitches: SwitchFile = {
  path: '~/.gemini/mcp-server-enablement.json',
  isWhole: true,
  isOff: (content, server) =>
    Object.entries(content).some(
      ([name, state]) => isSameName(name, server) && (Object(state).enabled ?? true) !== true,
    ),
};

/**
 * The rules for tools in the settings of Gemini CLI, Qwen Code and Claude Code. They name tools as the client shows them to its model,
 * `mcp_SERVER_TOOL` or `mcp__SERVER__TOOL`; `tools` may name them as their server does, too.
 */
export const toolRules: Rules = (root, server) => {
  const [tools, permissions] = [Object(root.tools), Object(root.permissions)];
  const plain = { 'tools.exclude': tools.exclude, 'tools.disabled': tools.disabled };
  const qualified = { 'permissions.deny': permissions.deny };
  const asking = {
    'tools.confirmationRequired': tools.confirmationRequired,
    'permissions.ask': permissions.ask,
  };
  const lists = Object.entries({ ...plain, excludeTools: root.excludeTools, ...qualified, ...asking });
  const wrong = lists.find(([, list]) => list !== undefined && !isNames(list));
  if (wrong) return { refused: `'${wrong[0]}' of the file must be a list of names` };
  const excludeTools: string[] = [];
  for (const [key, list] of lists) {
    for (const rule of (list as string[] | undefined) ?? []) {
      const name = rule.replace(/\(.*$/s, '').trim();
      const own = ownToolOf(name, server);
      if (own !== undefined && key in asking) return { refused: asksFirst };
      if (own !== undefined) excludeTools.push(own);
      else if (!(key in asking || key in qualified) && !name.startsWith('mcp_')) excludeTools.push(name);
    }
  }
  return excludeTools.length > 0 ? { excludeTools } : {};
};

/** Returns the tool of a server that a client's name for tools means, `*` for all of them; nothing if it means none of them. */
function ownToolOf(name: string, server: string): string | undefined {
  for (const prefix of [`mcp__${server}__`, `mcp_${server}_`, `${server}__`].map(comparable)) {
    const compared = comparable(name);
    if (compared.startsWith(prefix)) return name.slice(prefix.length) || '*';
    const isWhole = prefix.startsWith('mcp_') && /^_+$/.test(prefix.slice(compared.length));
    if (prefix.startsWith(compared) && isWhole) return '*';
    if (compared.includes('*') && mayMatchStart(compared, prefix)) return '*';
  }
  return undefined;
}

/** Clients replace other characters of the names of servers, each by one. */
function comparable(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9*]/g, '_');
}

function isSameName(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

/**
 * opencode's rules for tools, whose names begin with those of their servers: `{ "files_*": false }` or `{ "files_*": "deny" }`. Of several
 * rules for a tool the last counts. A question for every tool stays with the client, because it is about the tools of Signalbox, too. A
 * rule of one of its agents can't be kept.
 */
export function prefixRules(
  prefix: string,
  sections: readonly unknown[],
  agents: readonly unknown[],
): ServerRules {
  const rules = rulesAbout(prefix, sections);
  const ofAgents = agents
    .flatMap((section) => Object.values(Object(section)))
    .flatMap((agent) => rulesAbout(prefix, [Object(agent).tools, Object(agent).permission]));
  if (ofAgents.some(([, action]) => !allowing.includes(action))) return { refused: rulesInTurn };
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

/** The rules that may be about a tool whose name begins so. A rule for every tool is written as one for this server's. */
function rulesAbout(prefix: string, sections: readonly unknown[]): [pattern: string, action: unknown][] {
  return sections
    .flatMap((section) => Object.entries(typeof section === 'string' ? { '*': section } : Object(section)))
    .filter(([pattern, action]) => !(pattern.startsWith('*') && action === 'ask'))
    .map(([pattern, action]): [string, unknown] => [pattern === '*' ? `${prefix}*` : pattern, action])
    .filter(([pattern]) => mayMatchStart(pattern.replaceAll('?', '*'), prefix));
}

const allowing: readonly unknown[] = [true, 'allow'];
const denying: readonly unknown[] = [false, 'deny'];
const rulesInTurn =
  'the file has rules for its tools that Signalbox cannot keep: write the server into signalbox.yaml';
