import { basename } from 'node:path';
import { closedModes } from '../../agent-clis/claude.ts';
import { serverName } from '../../agent-clis/injection.ts';
import type { ToolFacts } from './tool-facts.ts';

/** The ways of an agent that speaks ACP, where agents differ. An agent without a row is taken to do as the protocol says. */
export interface AcpAgent {
  /** Its name in questions for a permission, and for people. */
  readonly name: string;
  /** The program, and the word that makes it speak ACP, if one does. */
  readonly command: readonly [program: string, word?: string];
  /**
   * The way in which it gets our MCP server: `session` names it in each request for a session, `cli` names it as other turns of the same CLI
   * do, and `none` has no way.
   */
  readonly server: 'session' | 'cli' | 'none';
  /** The mode in which it asks its client. It is set after each session/new, session/resume and session/load. */
  readonly mode?: string;
  /** The modes in which it asks a person. In all others it, or a second model, decides. Absent if it has no modes of that kind. */
  readonly asking?: readonly string[];
  /** The `_meta` of each request for a session, by which it allows our tools and closes modes in which it asks nobody. */
  readonly sessionMeta?: Readonly<Record<string, unknown>>;
  /** The options with which it asks nobody. */
  readonly silent?: readonly string[];
  /** Why it can't ask for permissions at all. */
  readonly neverAsks?: string;
  /** Why a session is not continued. */
  readonly forgets?: string;
  /**
   * True if each part of a message has the message's id, so that a part without one is no answer. claude passes on the id that the API of
   * its model gives, and some give none.
   */
  readonly sendsIds?: true;
  /** True if the arguments of a tool come in an update after the question. */
  readonly argumentsFollow?: true;
  /** Texts at the end of a turn that say that it did not answer. */
  readonly noAnswer?: { readonly failed: RegExp; readonly denied: RegExp };
  /**
   * Matches a failure, as the agent tells it, in which its model refuses each request for a while. Its group, if it has one, is the status
   * of HTTP, and only some count.
   */
  readonly refusal?: RegExp;
  /** Matches the parts of messages that are words of the agent itself, and belong to no answer. */
  readonly notices?: RegExp;
  /** Recognises a tool of our MCP server by facts that the agent states in fields of their own, never by a title. */
  readonly isOurs?: (facts: ToolFacts) => boolean;
}

const ourPrefix = `mcp__${serverName}__`;

/**
 * What opencode and its descendant kilo share. They tell no status of an error of their model's API. Errors of a single request, such as one
 * that is too long, have other names.
 */
const opencode = {
  server: 'cli',
  sendsIds: true,
  argumentsFollow: true,
  refusal: /"errorName":"(?:APIError|ProviderAuthError)"/,
} as const;

/** The agents that were tried, with the versions of the guide's table. */
const table: readonly AcpAgent[] = [
  {
    name: 'claude',
    command: ['claude-agent-acp'],
    server: 'session',
    mode: 'default',
    asking: ['default', 'acceptEdits', 'plan'],
    sessionMeta: {
      claudeCode: {
        options: {
          allowedTools: [`mcp__${serverName}`],
          allowDangerouslySkipPermissions: false,
          settings: { permissions: closedModes },
          promptSuggestions: false,
        },
      },
    },
    refusal:
      /"errorKind":"(?:authentication_failed|oauth_org_not_allowed|account_on_hold|verification_required|billing_error|rate_limit|overloaded|model_not_found|server_error|cloud_credential_error)"/,
    isOurs: ({ meta }) => textAt(meta, 'claudeCode', 'toolName').startsWith(ourPrefix),
  },
  {
    name: 'codex',
    command: ['codex-acp'],
    server: 'session',
    mode: 'workspace-write',
    asking: ['workspace-write', 'read-only'],
    sendsIds: true,
    refusal: /^(?:unexpected status|exceeded retry limit, last status:) (\d{3}) /,
    isOurs: ({ meta, input }) =>
      meta.is_mcp_tool_approval === true && textAt({ input }, 'input', 'server') === serverName,
  },
  {
    name: 'gemini',
    command: ['gemini', '--acp'],
    server: 'cli',
    mode: 'default',
    asking: ['default'],
    silent: ['--yolo', '-y', '--approval-mode'],
    forgets: 'gemini can erase a session that it loads',
  },
  { name: 'opencode', command: ['opencode', 'acp'], ...opencode },
  { name: 'kilo', command: ['kilo', 'acp'], ...opencode },
  {
    name: 'qwen',
    command: ['qwen', '--acp'],
    server: 'cli',
    mode: 'default',
    asking: ['default', 'plan'],
    silent: ['--yolo', '-y', '--approval-mode'],
    refusal: /\{"details":"(\d{3}) /,
    isOurs: ({ meta }) => textAt(meta, 'toolName').startsWith(ourPrefix),
  },
  {
    name: 'copilot',
    command: ['copilot', '--acp'],
    server: 'cli',
    silent: ['--allow-all-tools', '--allow-all', '--yolo'],
    noAnswer: { failed: /^Error: /, denied: /^Info: Operation cancelled by user/ },
    refusal: /(?:\(HTTP |Last error: )(\d{3})\b/,
    notices: /^Info: Request failed due to a transient API error\. Retrying\.\.\.\s*$/,
  },
  {
    name: 'pi',
    command: ['pi-acp'],
    server: 'none',
    neverAsks: 'pi never asks before it uses a tool',
    notices:
      /^(?:pi v\S+\n---\n|New version available: |Retrying(?:\.\.\.$| \(attempt \d)|Retry finished, resuming\.$|Context nearing limit, running automatic compaction|Automatic compaction finished; )/,
  },
];

/** Returns the agent that a command line starts with ACP; `undefined` if it starts none of the table. */
export function acpAgentOf([program = '', ...words]: readonly string[]): AcpAgent | undefined {
  const name = programName(program);
  // A package's own starter names the package first.
  const started = starters.has(name) ? programName(words.find((word) => !word.startsWith('-')) ?? '') : name;
  return table.find(
    ({ command: [known, word] }) => known === started && (word === undefined || words.includes(word)),
  );
}

/** Returns the command line with which a CLI speaks ACP, by the name of its program; `undefined` if it is not known to. */
export function acpCommandOf(program: string): string | undefined {
  const name = programName(program);
  const row = table.find(({ name: agent, command }) => agent === name || command[0] === name);
  return row?.command.join(' ');
}

/** Describes an agent that is in no table, by the name of its program. */
export function unknownAcpAgent([program = '']: readonly string[]): AcpAgent {
  const name = programName(program)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(0, 32);
  return {
    name: /[a-z0-9]/.test(name) ? name : 'agent',
    command: [program],
    server: 'session',
    argumentsFollow: true,
  };
}

const starters: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx']);

function programName(word: string): string {
  return basename(word)
    .replace(/@[\w.-]+$/, '')
    .replace(/\.(exe|cmd|js)$/, '');
}

function textAt(from: Readonly<Record<string, unknown>>, ...keys: readonly string[]): string {
  let value: unknown = from;
  for (const key of keys) value = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === 'string' ? value : '';
}
