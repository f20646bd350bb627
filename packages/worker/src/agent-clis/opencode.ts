import { messageOf, SignalboxError } from '@signalbox/protocol';
import { asObject, parseCommentedJson } from './commented-json.ts';
import { type FaceCommand, type Inject, serverName, startTimeoutMs } from './injection.ts';

const variable = 'OPENCODE_CONFIG_CONTENT';

/**
 * Names our server in a variable that holds configuration. Every process that opencode starts inherits the variable, so it holds no secret.
 */
export const injectOpencode: Inject = (argv, { faceCommand, env }) => {
  const config = ownConfig(env[variable]);
  const mcp = { ...asObject(config.mcp), [serverName]: opencodeServer(faceCommand) };
  return {
    argv: [...argv],
    env: { [variable]: JSON.stringify({ ...config, mcp, permission: withOurs(config.permission) }) },
    files: [],
    notes: ["opencode's own MCP servers stay: it has no option to leave them out"],
  };
};

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

/**
 * Adds our rule to those of the variable. In opencode the last rule that matches wins: ours comes after `*` and before the others, so that
 * the user's rules about single tools of ours take effect.
 */
function withOurs(permission: unknown): Record<string, unknown> {
  const { '*': all, ...others } =
    asObject(permission) ?? (permission === undefined ? {} : { '*': permission });
  return { ...(all !== undefined && { '*': all }), ...opencodePermission, ...others };
}

function ownConfig(text: string | undefined): Record<string, unknown> {
  if (text === undefined || text.trim() === '') return {};
  let parsed: unknown;
  try {
    parsed = parseCommentedJson(text);
  } catch (cause) {
    throw notMergeable(`is not JSON: ${messageOf(cause)}`, cause);
  }
  const config = asObject(parsed);
  if (config === undefined) throw notMergeable('is not a JSON object');
  if (config.mcp !== undefined && asObject(config.mcp) === undefined)
    throw notMergeable('has an "mcp" that is no object');
  const { permission } = config;
  if (permission !== undefined && typeof permission !== 'string' && asObject(permission) === undefined)
    throw notMergeable('has a "permission" that is neither a text nor an object');
  return config;
}

function notMergeable(why: string, cause?: unknown): SignalboxError {
  return new SignalboxError('usage', `${variable} in the environment ${why}`, {
    cause,
    details: { hint: 'correct it or unset it; it is merged with our own, never replaced' },
  });
}
