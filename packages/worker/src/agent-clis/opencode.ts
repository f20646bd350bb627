import { messageOf, SignalboxError } from '@signalbox/protocol';
import { asObject, parseCommentedJson } from './commented-json.ts';
import { type FaceCommand, type Inject, serverName, startTimeoutMs } from './injection.ts';

/**
 * Names our server in the variable that holds configuration for opencode, or for a CLI that is built on it. Every process that the CLI
 * starts inherits the variable, so it holds no secret.
 */
export function injectOpencode(name: string, variable: string): Inject {
  return (argv, { faceCommand, env, asksClient }) => {
    const config = ownConfig(variable, env[variable]);
    const mcp = { ...asObject(config.mcp), [serverName]: opencodeServer(faceCommand) };
    return {
      argv: [...argv],
      env: {
        [variable]: JSON.stringify({ ...config, mcp, permission: withOurs(config.permission, asksClient) }),
      },
      files: [],
      notes: [`${name}'s own MCP servers stay: it has no option to leave them out`],
    };
  };
}

/** Returns opencode's entry for an MCP server that it starts. */
export function opencodeServer({ command, args, env }: FaceCommand): Record<string, unknown> {
  return {
    type: 'local',
    command: [command, ...args],
    environment: env,
    enabled: true,
    timeout: startTimeoutMs,
  };
}

/** The rule by which opencode calls our tools without asking. Its names of tools begin with that of their server. */
export const opencodePermission = { [`${serverName}_*`]: 'allow' } as const;

/** The rules by which opencode asks its client: by itself it asks about nothing. Tools that only read in the folder need no question. */
const askingRules = {
  '*': 'ask',
  ...Object.fromEntries(
    ['read', 'glob', 'grep', 'list', 'todoread', 'todowrite'].map((tool) => [tool, 'allow']),
  ),
} as const;

/**
 * Adds our rule to those of the variable. In opencode the last rule that matches wins: ours comes after `*` and before the others, so that
 * the user's rules about single tools of ours take effect.
 */
function withOurs(permission: unknown, asksClient: boolean): Record<string, unknown> {
  const { '*': all, ...others } =
    asObject(permission) ?? (permission === undefined ? {} : { '*': permission });
  const first = asksClient ? askingRules : all !== undefined && { '*': all };
  return { ...first, ...opencodePermission, ...others };
}

function ownConfig(variable: string, text: string | undefined): Record<string, unknown> {
  if (text === undefined || text.trim() === '') return {};
  let parsed: unknown;
  try {
    parsed = parseCommentedJson(text);
  } catch (cause) {
    throw notMergeable(variable, `is not JSON: ${messageOf(cause)}`, cause);
  }
  const config = asObject(parsed);
  if (config === undefined) throw notMergeable(variable, 'is not a JSON object');
  if (config.mcp !== undefined && asObject(config.mcp) === undefined)
    throw notMergeable(variable, 'has an "mcp" that is no object');
  const { permission } = config;
  if (permission !== undefined && typeof permission !== 'string' && asObject(permission) === undefined)
    throw notMergeable(variable, 'has a "permission" that is neither a text nor an object');
  return config;
}

function notMergeable(variable: string, why: string, cause?: unknown): SignalboxError {
  return new SignalboxError('usage', `${variable} in the environment ${why}`, {
    cause,
    details: { hint: 'correct it or unset it; it is merged with our own, never replaced' },
  });
}
